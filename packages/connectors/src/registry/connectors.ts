import { connectorTypes } from '@sluice/contracts/systems'
import type { Connector, ConnectorContext } from '../connector.ts'
import type { DatabaseProduct, DatabaseType } from '../database-connector/database-product.ts'
import type { DatasetDatabase } from '../public-dataset/public-datasets.ts'
import type { ConnectorDefinition, KnownType } from '../settings/connector-definition.ts'
import type { HttpSystem } from '../http-connector/http-system.ts'

export interface RegistryContext extends ConnectorContext {
  /** If absent, public datasets cannot be read. */
  datasets?: DatasetDatabase
}

interface RegisteredConnector<Type extends KnownType> {
  /** Imports the part that the API needs to save a pipeline. */
  define(): Promise<ConnectorDefinition<Type, any>>
  /**
   * Imports the connector at its first use: most processes use few connectors, and unused modules take no memory. Returns
   * undefined if this process lacks what the connector needs.
   */
  load(context: RegistryContext): Promise<Connector | undefined>
}

const { mysql, oracle, postgres, redshift, sqlServer } = connectorTypes

/** Maps wire tokens (the values of `type` in the API) to connectors. The compiler reports a missing pipeline type. */
export const connectors: { readonly [Type in KnownType]: RegisteredConnector<Type> } = {
  [connectorTypes.azureBlobStorage]: {
    define: async () => (await import('../azure-blob/azure-settings.ts')).azureDefinition,
    load: async (context) => (await import('../azure-blob/azure-connector.ts')).azureConnector(context),
  },
  [connectorTypes.csvUpload]: {
    define: async () => (await import('../uploaded-file/uploaded-file-settings.ts')).csvUploadDefinition,
    load: async (context) => (await import('../uploaded-file/uploaded-files.ts')).csvUpload(context),
  },
  [connectorTypes.fhir]: {
    define: async () => (await import('../fhir/fhir-settings.ts')).fhirDefinition,
    load: httpConnector(async () => (await import('../fhir/fhir.ts')).fhir),
  },
  [connectorTypes.functionCall]: {
    define: async () => (await import('../function/function-settings.ts')).functionDefinition,
    load: httpConnector(async () => (await import('../function/function.ts')).functionCall),
  },
  [connectorTypes.s3]: {
    define: async () => (await import('../s3/s3-settings.ts')).s3Definition,
    load: async (context) => (await import('../s3/s3-connector.ts')).s3Connector(context),
  },
  [connectorTypes.googleSheets]: {
    define: async () => (await import('../google-sheets/google-sheets-settings.ts')).googleSheetsDefinition,
    load: httpConnector(async () => (await import('../google-sheets/google-sheets.ts')).googleSheets),
  },
  [connectorTypes.parquetUpload]: {
    define: async () => (await import('../uploaded-file/uploaded-file-settings.ts')).parquetUploadDefinition,
    load: async (context) => (await import('../uploaded-file/uploaded-files.ts')).parquetUpload(context),
  },
  [connectorTypes.publicDataset]: {
    define: async () => (await import('../public-dataset/public-dataset-settings.ts')).publicDatasetDefinition,
    load: async ({ datasets }) =>
      datasets && (await import('../public-dataset/public-datasets.ts')).publicDatasets(datasets),
  },
  [connectorTypes.bhima]: {
    define: async () => (await import('../bhima/bhima-settings.ts')).bhimaDefinition,
    load: httpConnector(async () => (await import('../bhima/bhima.ts')).bhima),
  },
  [connectorTypes.commcare]: {
    define: async () => (await import('../commcare/commcare-settings.ts')).commcareDefinition,
    load: httpConnector(async () => (await import('../commcare/commcare.ts')).commcare),
  },
  [connectorTypes.dhis2]: {
    define: async () => (await import('../dhis2/dhis2-settings.ts')).dhis2Definition,
    load: httpConnector(async () => (await import('../dhis2/dhis2.ts')).dhis2),
  },
  [connectorTypes.ihris]: {
    define: async () => (await import('../ihris/ihris-settings.ts')).ihrisDefinition,
    load: httpConnector(async () => (await import('../ihris/ihris.ts')).ihris),
  },
  [connectorTypes.kobotoolbox]: {
    define: async () => (await import('../kobotoolbox/kobotoolbox-settings.ts')).kobotoolboxDefinition,
    load: httpConnector(async () => (await import('../kobotoolbox/kobotoolbox.ts')).kobotoolbox),
  },
  [connectorTypes.communityHealthToolkit]: {
    define: async () => (await import('../community-health-toolkit/cht-settings.ts')).communityHealthToolkitDefinition,
    load: httpConnector(
      async () => (await import('../community-health-toolkit/community-health-toolkit.ts')).communityHealthToolkit,
    ),
  },
  [connectorTypes.odkCentral]: {
    define: async () => (await import('../odk-central/odk-settings.ts')).odkCentralDefinition,
    load: httpConnector(async () => (await import('../odk-central/odk-central.ts')).odkCentral),
  },
  [connectorTypes.openlmis]: {
    define: async () => (await import('../openlmis/openlmis-settings.ts')).openlmisDefinition,
    load: httpConnector(async () => (await import('../openlmis/openlmis.ts')).openlmis),
  },
  [connectorTypes.sormas]: {
    define: async () => (await import('../sormas/sormas-settings.ts')).sormasDefinition,
    load: httpConnector(async () => (await import('../sormas/sormas.ts')).sormas),
  },
  [sqlServer]: database(sqlServer, async () => (await import('../sql-server/sql-server-connector.ts')).sqlServer),
  [mysql]: database(mysql, async () => (await import('../mysql/mysql-connector.ts')).mysql),
  [oracle]: database(oracle, async () => (await import('../oracle/oracle-connector.ts')).oracle),
  [postgres]: database(postgres, async () => (await import('../postgres/postgres-connector.ts')).postgres),
  [redshift]: database(redshift, async () => (await import('../redshift/redshift-connector.ts')).redshift),
}

export function httpConnector(load: () => Promise<HttpSystem>): (context: ConnectorContext) => Promise<Connector> {
  return async (context) => (await import('../http-connector/http-connector.ts')).createHttpConnector(load, context)
}

function database<Type extends DatabaseType>(
  type: Type,
  loadProduct: () => Promise<DatabaseProduct>,
): RegisteredConnector<Type> {
  return {
    async define() {
      const { defineDatabase } = await import('../database-connector/database-settings.ts')
      return defineDatabase(type, await loadProduct())
    },
    async load(context) {
      const { databaseConnector } = await import('../database-connector/database-connector.ts')
      return databaseConnector(await loadProduct(), context)
    },
  }
}
