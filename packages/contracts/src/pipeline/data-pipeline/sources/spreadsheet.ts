import { Type } from 'typebox'
import { defineSourceAccess } from '../source-credentials.ts'
import { SourceUrl, describeField, SourceName, defineSecretField } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

export const spreadsheetAccess = defineSourceAccess(
  'SpreadsheetSource',
  {
    url: describeField(
      SourceUrl,
      'Address',
      'The address of the spreadsheet in the browser.',
      'https://docs.google.com/spreadsheets/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit',
    ),
  },
  {
    serviceAccountKey: defineSecretField(
      'Service account',
      'The JSON key file of an account that the spreadsheet is shared with. Without it, an API key is needed.',
      '{"type": "service_account", "client_email": "…", "private_key": "…"}',
      10_000,
      '\\S',
    ),
    authToken: defineSecretField(
      'API key',
      'An API key is sufficient if everyone with the link can view the spreadsheet.',
      'an-api-key',
    ),
  },
)

const sheetDescriptions = {
  sheet: Type.Optional(describeField(SourceName, 'Sheet', 'The name of the sheet. Default: the first sheet.', 'Cases')),
  range: Type.Optional(
    describeField(
      Type.String({ minLength: 1, maxLength: 40, pattern: '^[A-Z]{1,3}[0-9]{0,7}(:[A-Z]{1,3}[0-9]{0,7})?$' }),
      'Range',
      'The range of cells to load. Default: all cells.',
      'A1:F500',
    ),
  ),
  headerRow: Type.Optional(
    describeField(
      Type.Boolean(),
      'Column names in the first row',
      'Whether the first row contains the column names. Default: true.',
      true,
    ),
  ),
}

export const googleSheets = definePipelineVariant(connectorTypes.googleSheets, {
  requestFields: { spreadsheetSource: spreadsheetAccess.requestSchema, ...sheetDescriptions },
  responseFields: { spreadsheetSource: spreadsheetAccess.responseSchema, ...sheetDescriptions },
})
