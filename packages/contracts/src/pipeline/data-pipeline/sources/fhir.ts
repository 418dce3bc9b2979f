import { Type } from 'typebox'
import { clinicalAccess } from '../source-credentials.ts'
import { describeField, listOfSome, SourceName } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const ResourceType = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Z][A-Za-z]*$' })
const viewClause = Type.Object({}, { maxProperties: 50 })

/** The fields of a ViewDefinition that the contract validates. The connector validates the others. */
const FhirViewDefinition = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_]*$' }),
    resource: ResourceType,
    select: Type.Array(viewClause, { minItems: 1, maxItems: 100 }),
    where: Type.Optional(Type.Array(viewClause, { maxItems: 100 })),
    constant: Type.Optional(Type.Array(viewClause, { maxItems: 100 })),
  },
  { maxProperties: 50, title: 'ViewDefinition' },
)

const fhirDescriptions = {
  method: Type.Optional(
    describeField(
      Type.Enum(['SEARCH', 'BULK_EXPORT']),
      'Way',
      'SEARCH reads page by page. BULK_EXPORT reads an export that the server prepares. Default: SEARCH.',
      'SEARCH',
    ),
  ),
  resourceTypes: describeField(
    listOfSome(ResourceType, { min: 1, most: 150 }),
    'Resource types',
    'The resource types to load. Each becomes a table.',
    ['Patient', 'Encounter'],
  ),
  search: Type.Optional(
    describeField(
      Type.String({ maxLength: 2000, pattern: '^[^?#\\s\\p{Cc}]*$' }),
      'Search',
      'Query parameters that limit the loaded resources, without the question mark.',
      'active=true',
    ),
  ),
  group: Type.Optional(describeField(SourceName, 'Group', 'For an export: only the members of this group.', '42')),
  views: Type.Optional(
    describeField(
      Type.Array(FhirViewDefinition, { maxItems: 50 }),
      'Views',
      'ViewDefinitions of SQL on FHIR. Each one defines the columns of a table. Other types are loaded without a definition.',
      [{ name: 'patients', resource: 'Patient', select: [{ column: [{ name: 'id', path: 'getResourceKey()' }] }] }],
    ),
  ),
}

export const fhirVariant = definePipelineVariant(connectorTypes.fhir, {
  requestFields: { apiSource: clinicalAccess.requestSchema, ...fhirDescriptions },
  responseFields: { apiSource: clinicalAccess.responseSchema, ...fhirDescriptions },
})
