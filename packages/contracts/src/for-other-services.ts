import type { Role } from './roles.ts'

/** A role, switch, field or setting that these two services store and return, but do not use. */
interface ExternalFeature {
  name: string
  kind: 'role' | 'client' | 'user' | 'setting'
  /** Its meaning for services that read it, and its effect in these two services. */
  meaning: string
}

const role = (name: Role, meaning: string): ExternalFeature => ({ name, kind: 'role', meaning })

/**
 * The complete list of features that these two services store for others. docs/roles.md shows it, and a test checks that
 * every role and setting either has an effect or is in this list.
 */
export const forOtherServices: readonly ExternalFeature[] = [
  role('ROLE_SEE_INSTANCE', 'See instances of the manager. Here: `hasManagerAccess`.'),
  role('ROLE_MANAGE_INSTANCE', 'Change instances of the manager. Here: `hasManagerAccess`.'),
  role('ROLE_GET_FILE', 'Fetch files of instances.'),
  role('ROLE_GET_FILE_INDIVIDUAL', 'Fetch files of the instances in `fileAccessInstances`.'),
  role('ROLE_MANAGE_HOSTING_PLAN', 'Change hosting plans.'),
  role('ROLE_SEE_ROUTE', 'See integration routes. Here: `hasRouteAccess`.'),
  role('ROLE_MANAGE_ROUTE', 'Change integration routes. Here: `hasRouteAccess`.'),
  role('ROLE_SEE_FIREWALL_RULE', 'See firewall rules.'),
  role('ROLE_MANAGE_FIREWALL_RULE', 'Change firewall rules.'),
  role('ROLE_VIEW_DATA_ANALYTICS_PLATFORM', 'Read data in the analytics platform. Here: `hasAnalyticsPlatformAccess`.'),
  role('ROLE_SEE_DATA_PIPELINE_CONFIG', 'See the configuration of a pipeline engine outside of Sluice.'),
  role('ROLE_MANAGE_DATA_PIPELINE_CONFIG', 'Change the configuration of a pipeline engine outside of Sluice.'),
  { name: 'managerEnabled', kind: 'client', meaning: 'The manager is switched on. Here: `hasManagerAccess`.' },
  { name: 'routesEnabled', kind: 'client', meaning: 'Integration routes are switched on. Here: `hasRouteAccess`.' },
  {
    name: 'enterpriseEnabled',
    kind: 'client',
    meaning: 'The organisation has an enterprise plan.',
  },
  {
    name: 'domain: DATA_MART_PROGRAM',
    kind: 'client',
    meaning:
      'The organisation runs data marts. The other two values mean something here: only PUBLIC_DATASET_CATALOG publishes datasets.',
  },
  {
    name: 'routeNotificationEmailAddresses',
    kind: 'client',
    meaning: 'Recipients of notices about failed routes: email addresses, separated by commas.',
  },
  {
    name: 'primaryContact, technicalContact, billingContact, billingCode',
    kind: 'client',
    meaning: 'For information and billing. The services send them no mail.',
  },
  { name: 'fileAccessInstances', kind: 'user', meaning: 'Instances whose files a user may fetch.' },
  { name: 'analyticsPlatformEnabled', kind: 'user', meaning: 'The user has an account in the analytics platform.' },
  { name: 'THEME', kind: 'setting', meaning: 'The colours of pages of other services.' },
]
