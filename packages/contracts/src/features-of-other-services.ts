import type { Role } from './roles.ts'

/** A role, field or setting that identity and pipeline only store and return. Other services use it. */
interface FeatureOfOtherService {
  name: string
  kind: 'role' | 'client' | 'user' | 'setting'
  /**
   * A description of the feature in the services that use it. Also names its effect in identity and pipeline, if it has
   * any.
   */
  meaning: string
}

const roleOfOtherService = (name: Role, meaning: string): FeatureOfOtherService => ({ name, kind: 'role', meaning })

/**
 * All roles, fields and settings of other services. docs/roles.md shows this list. A test checks that every role and
 * setting either has an effect in identity or pipeline, or is in this list.
 */
export const featuresOfOtherServices: readonly FeatureOfOtherService[] = [
  roleOfOtherService(
    'ROLE_SEE_INSTANCE',
    'View instances in the manager application. Sluice uses this role only to compute `hasManagerAccess`.',
  ),
  roleOfOtherService(
    'ROLE_MANAGE_INSTANCE',
    'Change instances in the manager application. Sluice uses this role only to compute `hasManagerAccess`.',
  ),
  roleOfOtherService('ROLE_GET_FILE', 'Fetch files of instances.'),
  roleOfOtherService('ROLE_GET_FILE_INDIVIDUAL', 'Fetch files from the service instances in `fileAccessInstances`.'),
  roleOfOtherService('ROLE_MANAGE_HOSTING_PLAN', 'Change hosting plans.'),
  roleOfOtherService(
    'ROLE_SEE_ROUTE',
    'View integration routes. Sluice uses this role only to compute `hasRouteAccess`.',
  ),
  roleOfOtherService(
    'ROLE_MANAGE_ROUTE',
    'Change integration routes. Sluice uses this role only to compute `hasRouteAccess`.',
  ),
  roleOfOtherService(
    'ROLE_SEE_FIREWALL_RULE',
    'View firewall rules. Sluice uses this role only to show the `networks` of warehouse readers.',
  ),
  roleOfOtherService(
    'ROLE_MANAGE_FIREWALL_RULE',
    'Change firewall rules. Sluice uses this role only to set the `networks` of warehouse readers.',
  ),
  roleOfOtherService(
    'ROLE_VIEW_DATA_ANALYTICS_PLATFORM',
    'Read data in the analytics platform. Sluice uses this role only to compute `hasAnalyticsPlatformAccess`.',
  ),
  roleOfOtherService('ROLE_SEE_DATA_PIPELINE_CONFIG', 'View the configuration of pipelines that another service runs.'),
  roleOfOtherService(
    'ROLE_MANAGE_DATA_PIPELINE_CONFIG',
    'Change the configuration of pipelines that another service runs.',
  ),
  {
    name: 'managerEnabled',
    kind: 'client',
    meaning: 'The manager application is enabled. Sluice uses this field only to compute `hasManagerAccess`.',
  },
  {
    name: 'routesEnabled',
    kind: 'client',
    meaning: 'Integration routes are enabled. Sluice uses this field only to compute `hasRouteAccess`.',
  },
  {
    name: 'enterpriseEnabled',
    kind: 'client',
    meaning: 'The organisation has an enterprise plan.',
  },
  {
    name: 'domain: DATA_MART_PROGRAM',
    kind: 'client',
    meaning:
      'The organisation runs data marts. Sluice uses only the value PUBLIC_DATASET_CATALOG, which allows the organisation to publish datasets.',
  },
  {
    name: 'routeNotificationEmailAddresses',
    kind: 'client',
    meaning: 'Recipients of notices about failed routes: email addresses, separated by commas.',
  },
  {
    name: 'primaryContact, technicalContact, billingContact, billingCode',
    kind: 'client',
    meaning: 'Contact and billing data. Sluice sends no email to these contacts.',
  },
  { name: 'fileAccessInstances', kind: 'user', meaning: 'The service instances from which the user may fetch files.' },
  { name: 'analyticsPlatformEnabled', kind: 'user', meaning: 'The user has an account in the analytics platform.' },
  { name: 'THEME', kind: 'setting', meaning: 'The colours of the pages that other services show.' },
]
