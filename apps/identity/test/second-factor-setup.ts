import { afterAll, beforeAll } from '@jest/globals'
import { goodPassword, startService, type Service } from './app-under-test.ts'

/** The path of the caller's own second factor. */
export const secondFactorPath = '/users/me/second-factor'

/** Starts a service for all tests of a file, with functions for both steps of a sign-in. */
export function startSecondFactorService() {
  let service: Service
  beforeAll(async () => {
    service = await startService({ ADMIN_SETS_PASSWORDS: true })
  })
  afterAll(() => service?.stop())
  return {
    get service() {
      return service
    },
    login: (username: string, password = goodPassword) =>
      service.http.post('/api/v1/auth/login').send({ username, password }),
    complete: (ticket: string, code: string) => service.http.post('/api/v1/auth/login/code').send({ ticket, code }),
  }
}
