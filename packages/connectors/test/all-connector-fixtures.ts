import { bhima } from '../src/bhima/test/bhima-stand-in.ts'
import { communityHealthToolkit } from '../src/community-health-toolkit/test/community-health-toolkit-stand-in.ts'
import { commcareCases, commcareForms } from '../src/commcare/test/commcare-stand-in.ts'
import { dhis2DataValues, dhis2Events } from '../src/dhis2/test/dhis2-stand-in.ts'
import { fhir } from '../src/fhir/test/fhir-stand-in.ts'
import { addressedFunction, lambdaFunction } from '../src/function/test/function-stand-in.ts'
import { digitalOceanFirewalls } from '../src/function/rest-api/test/digitalocean-stand-in.ts'
import { githubIssues } from '../src/function/rest-api/test/github-stand-in.ts'
import { stripeProducts } from '../src/function/rest-api/test/stripe-stand-in.ts'
import { googleSheets } from '../src/google-sheets/test/google-sheets-stand-in.ts'
import { ihris } from '../src/ihris/test/ihris-stand-in.ts'
import { kobotoolbox } from '../src/kobotoolbox/test/kobotoolbox-stand-in.ts'
import { odkCentral } from '../src/odk-central/test/odk-central-stand-in.ts'
import { openlmis } from '../src/openlmis/test/openlmis-stand-in.ts'
import type { ConnectorFixture } from './connector-fixture.ts'
import { sormas } from '../src/sormas/test/sormas-stand-in.ts'

/** Every system that the conformance suite asks, by a name that a table may have. */
export const connectorFixtures: Readonly<Record<string, ConnectorFixture>> = {
  bhima,
  communityHealthToolkit,
  commcare_forms: commcareForms,
  commcare_cases: commcareCases,
  dhis2_events: dhis2Events('2.42.1'),
  dhis2_data_values: dhis2DataValues,
  fhir,
  function_address: addressedFunction,
  function_lambda: lambdaFunction,
  rest_link_header: githubIssues,
  rest_cursor: stripeProducts,
  rest_next_link: digitalOceanFirewalls,
  google_sheets: googleSheets,
  ihris,
  kobotoolbox,
  odkCentral,
  openlmis,
  sormas,
}
