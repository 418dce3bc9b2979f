import { Type } from 'typebox'
import { clinicalAccess } from '../source-access.ts'
import { field, listOfSome, Name } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { variant } from '../pipeline-variant.ts'

const ResourceType = Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Z][A-Za-z]*$' })
const part = Type.Object({}, { maxProperties: 50 })

/** The fields of a ViewDefinition that the contract checks. The connector checks the rest. */
const View = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_]*$' }),
    resource: ResourceType,
    select: Type.Array(part, { minItems: 1, maxItems: 100 }),
    where: Type.Optional(Type.Array(part, { maxItems: 100 })),
    constant: Type.Optional(Type.Array(part, { maxItems: 100 })),
  },
  { maxProperties: 50, title: 'ViewDefinition' },
)

const fhirDescriptions = {
  method: Type.Optional(
    field(
      Type.Enum(['SEARCH', 'BULK_EXPORT']),
      'Way',
      'SEARCH reads page by page. BULK_EXPORT reads an export that the server prepares. SEARCH when absent.',
      'SEARCH',
    ),
  ),
  resourceTypes: field(listOfSome(ResourceType, { min: 1, most: 150 }), 'Resource types', 'Each becomes a table.', [
    'Patient',
    'Encounter',
  ]),
  search: Type.Optional(
    field(
      Type.String({ maxLength: 2000, pattern: '^[^?#\\s\\p{Cc}]*$' }),
      'Search',
      'Query parameters that limit the loaded resources, without the question mark.',
      'active=true',
    ),
  ),
  group: Type.Optional(field(Name, 'Group', 'For an export: only the members of this group.', '42')),
  views: Type.Optional(
    field(
      Type.Array(View, { maxItems: 50 }),
      'Views',
      'ViewDefinitions of SQL on FHIR. Each one defines the columns of a table. Other types are loaded without a definition.',
      [{ name: 'patients', resource: 'Patient', select: [{ column: [{ name: 'id', path: 'getResourceKey()' }] }] }],
    ),
  ),
}

export const fhir = variant(connectorTypes.fhir, {
  given: { apiSource: clinicalAccess.given, ...fhirDescriptions },
  answered: { apiSource: clinicalAccess.answered, ...fhirDescriptions },
})
