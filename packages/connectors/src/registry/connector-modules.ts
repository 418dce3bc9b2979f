import { connectorTypes } from '@sluice/contracts/connector-types'
import type { Connector, ConnectorContext } from '../connector.ts'
import type { DatabaseProduct, DatabaseType } from '../database-connector/database-product.ts'
import type { DatasetDatabase } from '../public-dataset/public-dataset-connector.ts'
import type { ConnectorDefinition, KnownType } from '../settings/connector-definition.ts'
import type { LoadSystem } from '../http-connector/http-connector.ts'

export interface RegistryContext extends ConnectorContext {
  /** The warehouse of public datasets. Without it, this process cannot read public datasets. */
  datasets?: DatasetDatabase
}

interface RegisteredConnector<Type extends KnownType> {
  /** Imports the definition, which the API needs in order to save a pipeline. */
  define(): Promise<ConnectorDefinition<Type, any>>
  /**
   * Imports the connector at its first use, because most processes use few connectors and unused modules would take memory.
   * Returns undefined if this process lacks what the connector needs. Absent for systems with an HTTP API.
   */
  load?(context: RegistryContext): Promise<Connector | undefined>
  /** Imports a system with an HTTP API. A thread that reads the system imports it as well. */
  loadSystem?: LoadSystem
}

const { mysql, oracle, postgres, redshift, sqlServer } = connectorTypes

/**
 * The modules of the connectors by pipeline type (the value of `type` in the API). A missing type is a compile error.
 */
export const connectorModules: { readonly [Type in KnownType]: RegisteredConnector<Type> } = {
  [connectorTypes.azureBlobStorage]: {
    define: async () => (await import('../azure-blob/azure-settings.ts')).azureDefinition,
    load: async (context) => (await import('../azure-blob/azure-connector.ts')).createAzureConnector(context),
  },
  [connectorTypes.csvUpload]: {
    define: async () => (await import('../uploaded-file/uploaded-file-settings.ts')).csvUploadDefinition,
    load: async (context) =>
      (await import('../uploaded-file/uploaded-file-connector.ts')).createCsvUploadConnector(context),
  },
  [connectorTypes.fhir]: {
    define: async () => (await import('../fhir/fhir-settings.ts')).fhirDefinition,
    loadSystem: async () => (await import('../fhir/fhir.ts')).fhir,
  },
  [connectorTypes.functionCall]: {
    define: async () => (await import('../function/function-settings.ts')).functionDefinition,
    loadSystem: async (settings) =>
      settings.restApi === undefined
        ? (await import('../function/function-call.ts')).functionSystem
        : (await import('../function/rest-api/rest-api.ts')).restApi,
  },
  [connectorTypes.s3]: {
    define: async () => (await import('../s3/s3-settings.ts')).s3Definition,
    load: async (context) => (await import('../s3/s3-connector.ts')).createS3Connector(context),
  },
  [connectorTypes.googleSheets]: {
    define: async () => (await import('../google-sheets/google-sheets-settings.ts')).googleSheetsDefinition,
    loadSystem: async () => (await import('../google-sheets/google-sheets.ts')).googleSheets,
  },
  [connectorTypes.parquetUpload]: {
    define: async () => (await import('../uploaded-file/uploaded-file-settings.ts')).parquetUploadDefinition,
    load: async (context) =>
      (await import('../uploaded-file/uploaded-file-connector.ts')).createParquetUploadConnector(context),
  },
  [connectorTypes.publicDataset]: {
    define: async () => (await import('../public-dataset/public-dataset-settings.ts')).publicDatasetDefinition,
    load: async ({ datasets }) =>
      datasets &&
      (await import('../public-dataset/public-dataset-connector.ts')).createPublicDatasetConnector(datasets),
  },
  [connectorTypes.bhima]: {
    define: async () => (await import('../bhima/bhima-settings.ts')).bhimaDefinition,
    loadSystem: async () => (await import('../bhima/bhima.ts')).bhima,
  },
  [connectorTypes.commcare]: {
    define: async () => (await import('../commcare/commcare-settings.ts')).commcareDefinition,
    loadSystem: async () => (await import('../commcare/commcare.ts')).commcare,
  },
  [connectorTypes.dhis2]: {
    define: async () => (await import('../dhis2/dhis2-settings.ts')).dhis2Definition,
    loadSystem: async () => (await import('../dhis2/dhis2.ts')).dhis2,
  },
  [connectorTypes.ihris]: {
    define: async () => (await import('../ihris/ihris-settings.ts')).ihrisDefinition,
    loadSystem: async () => (await import('../ihris/ihris.ts')).ihris,
  },
  [connectorTypes.kobotoolbox]: {
    define: async () => (await import('../kobotoolbox/kobotoolbox-settings.ts')).kobotoolboxDefinition,
    loadSystem: async () => (await import('../kobotoolbox/kobotoolbox.ts')).kobotoolbox,
  },
  [connectorTypes.communityHealthToolkit]: {
    define: async () => (await import('../community-health-toolkit/cht-settings.ts')).communityHealthToolkitDefinition,
    loadSystem: async () =>
      (await import('../community-health-toolkit/community-health-toolkit.ts')).communityHealthToolkit,
  },
  [connectorTypes.odkCentral]: {
    define: async () => (await import('../odk-central/odk-settings.ts')).odkCentralDefinition,
    loadSystem: async () => (await import('../odk-central/odk-central.ts')).odkCentral,
  },
  [connectorTypes.openlmis]: {
    define: async () => (await import('../openlmis/openlmis-settings.ts')).openlmisDefinition,
    loadSystem: async () => (await import('../openlmis/openlmis.ts')).openlmis,
  },
  [connectorTypes.sormas]: {
    define: async () => (await import('../sormas/sormas-settings.ts')).sormasDefinition,
    loadSystem: async () => (await import('../sormas/sormas.ts')).sormas,
  },
  [sqlServer]: registerDatabase(
    sqlServer,
    async () => (await import('../sql-server/sql-server-connector.ts')).sqlServer,
  ),
  [mysql]: registerDatabase(mysql, async () => (await import('../mysql/mysql-connector.ts')).mysql),
  [oracle]: registerDatabase(oracle, async () => (await import('../oracle/oracle-connector.ts')).oracle),
  [postgres]: registerDatabase(postgres, async () => (await import('../postgres/postgres-connector.ts')).postgres),
  [redshift]: registerDatabase(redshift, async () => (await import('../redshift/redshift-connector.ts')).redshift),
}

/** A system with an HTTP API: a pipeline type, or the address of a module that exports only the system. */
export interface SystemReference {
  type: string
  module?: string | undefined
}

/** Returns the function that imports an HTTP system. Returns undefined for a type of another source. */
export function findSystem({ type, module }: SystemReference): LoadSystem | undefined {
  if (module !== undefined) return async () => Object.values(await import(module))[0] as Awaited<ReturnType<LoadSystem>>
  return Object.hasOwn(connectorModules, type) ? connectorModules[type as KnownType].loadSystem : undefined
}

/**
 * Returns the registry entry of a database connector. `loadProduct` imports the parts that are specific to the database
 * product, without its driver.
 */
function registerDatabase<Type extends DatabaseType>(
  type: Type,
  loadProduct: () => Promise<DatabaseProduct>,
): RegisteredConnector<Type> {
  return {
    async define() {
      const { defineDatabaseConnector } = await import('../database-connector/database-settings.ts')
      return defineDatabaseConnector(type, await loadProduct())
    },
    async load(context) {
      const { createDatabaseConnector } = await import('../database-connector/database-connector.ts')
      return createDatabaseConnector(await loadProduct(), context)
    },
  }
}
