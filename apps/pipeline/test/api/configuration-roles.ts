import { configurationKinds, configurationRole } from '@sluice/contracts'

/** The roles of a user who may plan and apply every kind of object. */
export const everyManageRole = configurationKinds.map((kind) => configurationRole(kind, 'MANAGE'))
