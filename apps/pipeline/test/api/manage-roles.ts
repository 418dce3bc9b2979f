import { configurationKinds, getConfigurationRole } from '@sluice/contracts'

/** The roles of a user who may plan and apply every kind of object. */
export const everyManageRole = configurationKinds.map((kind) => getConfigurationRole(kind, 'MANAGE'))
