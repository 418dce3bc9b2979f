import type { PipelineType } from '@sluice/contracts'
import { lazySource } from '../lazy-source.ts'
import type { SourceKind } from '../connector.ts'
import type { HttpSystem } from '../http-connector/http-system.ts'
import type { HttpConnectorOptions } from '../http-connector/http-connector.ts'

/** Systems by type. The code of a system is imported at its first use. */
export type SystemsByType = Readonly<Partial<Record<string, () => Promise<HttpSystem>>>>

const systems: Partial<Record<PipelineType, () => Promise<HttpSystem>>> = {
  FHIR: async () => (await import('../fhir/fhir.ts')).fhir,
  FUNCTION: async () => (await import('../function/function.ts')).functionCall,
  ONLINE_SPREADSHEET: async () => (await import('../google-sheets/google-sheets.ts')).googleSheets,
  SOURCE_SYSTEM_A: async () => (await import('../bhima/bhima.ts')).bhima,
  SOURCE_SYSTEM_B: async () => (await import('../commcare/commcare.ts')).commcare,
  SOURCE_SYSTEM_C: async () => (await import('../dhis2/dhis2.ts')).dhis2,
  SOURCE_SYSTEM_D: async () => (await import('../ihris/ihris.ts')).ihris,
  SOURCE_SYSTEM_E: async () => (await import('../kobotoolbox/kobotoolbox.ts')).kobotoolbox,
  SOURCE_SYSTEM_F: async () =>
    (await import('../community-health-toolkit/community-health-toolkit.ts')).communityHealthToolkit,
  SOURCE_SYSTEM_G: async () => (await import('../odk-central/odk-central.ts')).odkCentral,
  SOURCE_SYSTEM_H: async () => (await import('../openlmis/openlmis.ts')).openlmis,
  SOURCE_SYSTEM_I: async () => (await import('../sormas/sormas.ts')).sormas,
}

export function httpSystems(options: HttpConnectorOptions, others: SystemsByType = {}): Record<string, SourceKind> {
  const kind = (load: () => Promise<HttpSystem>) =>
    lazySource(async () => (await import('../http-connector/http-connector.ts')).createHttpConnector(load, options))
  return Object.fromEntries(Object.entries({ ...systems, ...others }).map(([type, load]) => [type, kind(load!)]))
}
