import { bhima } from './bhima.scene.ts'
import { cht } from './cht.scene.ts'
import { commcareCases, commcareForms } from './commcare.scene.ts'
import { dhis2DataValues, dhis2Events } from './dhis2.scene.ts'
import { fhir } from './fhir.scene.ts'
import { addressedFunction, lambdaFunction } from './function.scene.ts'
import { googleSheets } from './google-sheets.scene.ts'
import { ihris } from './ihris.scene.ts'
import { kobo } from './kobo.scene.ts'
import { odk } from './odk.scene.ts'
import { openlmis } from './openlmis.scene.ts'
import type { Scene } from './scene.ts'
import { sormas } from './sormas.scene.ts'

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
