import type { Role } from './roles.ts'

/** A role, switch, field or setting that identity and pipeline store and return for other services, but do not use themselves. */
interface ExternalFeature {
  name: string
  kind: 'role' | 'client' | 'user' | 'setting'
  /** Says what the feature means to the services that read it, and which effect it has in identity and pipeline, if any. */
  meaning: string
}

const externalRole = (name: Role, meaning: string): ExternalFeature => ({ name, kind: 'role', meaning })

/**
 * All features that identity and pipeline only store for other services. docs/roles.md shows this list. A test checks
 * that every role and setting either has an effect or is in this list.
 */
export const forOtherServices: readonly ExternalFeature[] = [
  externalRole(
    'ROLE_SEE_INSTANCE',
    'View instances in the manager application. Sluice uses this role only to compute `hasManagerAccess`.',
  ),
  externalRole(
    'ROLE_MANAGE_INSTANCE',
    'Change instances in the manager application. Sluice uses this role only to compute `hasManagerAccess`.',
  ),
  externalRole('ROLE_GET_FILE', 'Fetch files of instances.'),
  externalRole('ROLE_GET_FILE_INDIVIDUAL', 'Fetch files of the instances in `fileAccessInstances`.'),
  externalRole('ROLE_MANAGE_HOSTING_PLAN', 'Change hosting plans.'),
  externalRole('ROLE_SEE_ROUTE', 'View integration routes. Sluice uses this role only to compute `hasRouteAccess`.'),
  externalRole(
    'ROLE_MANAGE_ROUTE',
    'Change integration routes. Sluice uses this role only to compute `hasRouteAccess`.',
  ),
  externalRole(
    'ROLE_SEE_FIREWALL_RULE',
    'View firewall rules. Sluice uses this role only to show the `networks` of warehouse readers.',
  ),
  externalRole(
    'ROLE_MANAGE_FIREWALL_RULE',
    'Change firewall rules. Sluice uses this role only to set the `networks` of warehouse readers.',
  ),
  externalRole(
    'ROLE_VIEW_DATA_ANALYTICS_PLATFORM',
    'Read data in the analytics platform. Sluice uses this role only to compute `hasAnalyticsPlatformAccess`.',
  ),
  externalRole('ROLE_SEE_DATA_PIPELINE_CONFIG', 'View the configuration of a pipeline engine other than Sluice.'),
  externalRole('ROLE_MANAGE_DATA_PIPELINE_CONFIG', 'Change the configuration of a pipeline engine other than Sluice.'),
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
  { name: 'fileAccessInstances', kind: 'user', meaning: 'Instances whose files a user may fetch.' },
  { name: 'analyticsPlatformEnabled', kind: 'user', meaning: 'The user has an account in the analytics platform.' },
  { name: 'THEME', kind: 'setting', meaning: 'The colours of pages of other services.' },
]
