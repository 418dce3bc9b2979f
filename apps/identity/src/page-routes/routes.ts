export { pageRoutes } from '../pages/account/routes.ts'
