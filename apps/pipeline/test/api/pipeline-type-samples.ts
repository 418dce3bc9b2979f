import type { PipelineType } from '@sluice/contracts'

/** A source as somebody would configure it: what is its own, and where in it which secrets stand. */
export interface Sample {
  own: Record<string, unknown>
  /** The object that the secrets stand in, and their names. */
  secrets?: [string, ...string[]]
}

const jdbcSource = { hostname: 'db.example.org', database: 'registry', username: 'reader' }
const url = 'https://data.example.org'
const login = { url, username: 'reader' }
const files = { key: 'data/**/cases_*.csv', delimiter: 'COMMA' }

/** The types whose fields are all of their own; a file and a public dataset have to be there first. */
export const samples: Record<Exclude<PipelineType, 'PUBLIC_DATASET'>, Sample> = {
  CLOUD_BLOB_STORAGE: {
    own: { blobStoreSource: { account: 'mystorageaccount', container: 'uploads' }, ...files },
    secrets: ['blobStoreSource', 'accountKey'],
  },
  SOURCE_SYSTEM_A: {
    own: { apiSource: login, project: '1', resources: ['PATIENTS'], startDate: '2026-01-01', endDate: '2026-01-01' },
    secrets: ['apiSource', 'password'],
  },
  SOURCE_SYSTEM_B: {
    own: { apiSource: login, domain: 'demo-project', caseTypes: ['pregnancy'], includeArchived: false },
    secrets: ['apiSource', 'authToken'],
  },
  CSV_UPLOAD: {
    own: { csvOptions: { delimiter: ':', nullValues: ['NA'], columns: [{ index: 0, dataType: 'TEXT' }] } },
  },
  SOURCE_SYSTEM_C: {
    own: {
      apiSource: { url },
      content: 'DATA_VALUES',
      dataSets: ['BfMAe6Itzgt'],
      orgUnits: ['ImspTQPwCqd'],
      periods: ['202601'],
      outputIdScheme: 'CODE',
    },
    secrets: ['apiSource', 'authToken'],
  },
  FUNCTION: {
    own: {
      functionSource: { url: 'https://example.org/rows?of=cases', headerName: 'x-functions-key' },
      payload: { country: 'KE' },
    },
    secrets: ['functionSource', 'authToken'],
  },
  FHIR: {
    own: { apiSource: { url: `${url}/fhir`, clientId: 'sluice' }, method: 'BULK_EXPORT', resourceTypes: ['Patient'] },
    secrets: ['apiSource', 'privateKey'],
  },
  ONLINE_SPREADSHEET: {
    own: {
      spreadsheetSource: {
        url: 'https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74/edit#gid=0',
      },
      sheet: 'Cases',
      range: 'A1:F500',
    },
    secrets: ['spreadsheetSource', 'authToken'],
  },
  SOURCE_SYSTEM_D: {
    own: { apiSource: login, report: 'ihris-es-report-staff' },
    secrets: ['apiSource', 'password'],
  },
  SOURCE_SYSTEM_E: {
    own: { apiSource: { url }, survey: 'aXjPqBvW4f7n5hLkTzR8sm' },
    secrets: ['apiSource', 'authToken'],
  },
  SOURCE_SYSTEM_F: { own: { apiSource: login, forms: ['pregnancy'] }, secrets: ['apiSource', 'password'] },
  SQL_DATABASE_A: {
    own: { jdbcSource, tables: [{ schema: 'dbo', name: 'cases' }] },
    secrets: ['jdbcSource', 'password'],
  },
  SQL_DATABASE_B: { own: { jdbcSource, tables: [{ name: 'cases' }] }, secrets: ['jdbcSource', 'password'] },
  SOURCE_SYSTEM_G: { own: { apiSource: login, project: '7', form: 'household' }, secrets: ['apiSource', 'password'] },
  SOURCE_SYSTEM_H: {
    own: { apiSource: { url }, facilities: ['HC01'], startDate: '2026-01-01', endDate: '2026-12-31' },
    secrets: ['apiSource', 'authToken'],
  },
  SQL_DATABASE_C: { own: { jdbcSource, sqlQuery: 'select * from cases' }, secrets: ['jdbcSource', 'password'] },
  PARQUET_UPLOAD: { own: {} },
  SQL_DATABASE_D: {
    own: { jdbcSource, sqlQuery: 'select 1', roleIdentifier: 'r', region: 'EU_WEST_1' },
    secrets: ['jdbcSource', 'password'],
  },
  WAREHOUSE_A: {
    own: {
      jdbcSource,
      sqlQuery: 'select 1',
      roleIdentifier: 'arn:aws:iam::123456789012:role/unload',
      region: 'DEFAULT',
    },
    secrets: ['jdbcSource', 'password'],
  },
  OBJECT_STORAGE_BUCKET: {
    own: { objectStoreSource: { bucket: 'my-bucket', endpoint: 'https://s3.example.org', pathStyle: true }, ...files },
    secrets: ['objectStoreSource', 'accessKey', 'secretKey'],
  },
  SOURCE_SYSTEM_I: {
    own: { apiSource: login, entities: ['CASES', 'EVENT_PARTICIPANTS'], startDate: '2026-01-01' },
    secrets: ['apiSource', 'password'],
  },
}

/** The same with secrets in it. */
export function withSecrets({ own, secrets }: Sample, value: string | null): Record<string, unknown> {
  if (!secrets) return own
  const [field, ...names] = secrets
  return { ...own, [field]: { ...(own[field] as object), ...Object.fromEntries(names.map((name) => [name, value])) } }
}
