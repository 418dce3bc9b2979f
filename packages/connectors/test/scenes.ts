import { bhima } from '../src/bhima/test/bhima.scene.ts'
import { cht } from '../src/community-health-toolkit/test/cht.scene.ts'
import { commcareCases, commcareForms } from '../src/commcare/test/commcare.scene.ts'
import { dhis2DataValues, dhis2Events } from '../src/dhis2/test/dhis2.scene.ts'
import { fhir } from '../src/fhir/test/fhir.scene.ts'
import { addressedFunction, lambdaFunction } from '../src/function/test/function.scene.ts'
import { googleSheets } from '../src/google-sheets/test/google-sheets.scene.ts'
import { ihris } from '../src/ihris/test/ihris.scene.ts'
import { kobo } from '../src/kobotoolbox/test/kobotoolbox.scene.ts'
import { odk } from '../src/odk-central/test/odk.scene.ts'
import { openlmis } from '../src/openlmis/test/openlmis.scene.ts'
import type { Scene } from './scene.ts'
import { sormas } from '../src/sormas/test/sormas.scene.ts'

/** Every system that the conformance suite asks, by a name that a table may have. */
export const scenes: Readonly<Record<string, Scene>> = {
  bhima,
  cht,
  commcare_forms: commcareForms,
  commcare_cases: commcareCases,
  dhis2_events: dhis2Events('2.42.1'),
  dhis2_data_values: dhis2DataValues,
  fhir,
  function_address: addressedFunction,
  function_lambda: lambdaFunction,
  google_sheets: googleSheets,
  ihris,
  kobo,
  odk,
  openlmis,
  sormas,
}
