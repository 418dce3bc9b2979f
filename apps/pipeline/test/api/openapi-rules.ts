import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'

type Json = any

/** What is wrong with an OpenAPI 3.1 document, one sentence each: what its own schema and its references demand. */
export function brokenOpenapiRules(document: Json): string[] {
  const operations = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    Object.entries<Json>(item).map(([method, operation]) => ({ path, method, operation })),
  )
  const ids = operations.map(({ operation }) => operation.operationId)
  return [
    ...(document.info?.title && document.info?.version ? [] : ['info needs a title and a version']),
    ...(new Set(ids).size === ids.length ? [] : ['an operationId is used twice']),
    ...operations.flatMap(brokenOperation),
    ...referencesOf(document).filter((reference) => !resolves(document, reference)),
    ...brokenSchemas(document.components.schemas),
  ]
}

function brokenOperation({ path, method, operation }: { path: string; method: string; operation: Json }): string[] {
  const at = `${method} ${path}`
  const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const given = operation.parameters.filter((one: Json) => one.in === 'path').map((one: Json) => one.name)
  const rules: [boolean, string][] = [
    [/^\/[^?]*$/.test(path), 'the path does not begin with a slash'],
    [/^(get|put|post|patch|delete)$/.test(method), 'the method is not one of ours'],
    [String(named) === String(given), 'path and path parameters differ'],
    [operation.parameters.every((one: Json) => one.name && one.schema), 'a parameter without name or schema'],
    [Object.entries<Json>(operation.responses).every(([, one]) => one.description), 'a response without description'],
    [Object.keys(operation.responses).some((status) => /^2\d\d$/.test(status)), 'no good answer'],
    [operation.responses.default?.content?.['application/problem+json'], 'no problem'],
    ...problemsOf(path, method, operation).map((status): [boolean, string] => [
      status in operation.responses,
      `no problem ${status}`,
    ]),
  ]
  return rules.filter(([kept]) => !kept).map(([, rule]) => `${at}: ${rule}`)
}

/** The problems that an operation of this shape can answer. */
function problemsOf(path: string, method: string, { requestBody, security }: Json): string[] {
  return [
    '400',
    ...(security?.length > 0 ? ['401'] : []),
    ...(path.includes('{') ? ['404'] : []),
    ...(/^(put|delete)$/.test(method) ? ['409', '422'] : []),
    ...(requestBody ? ['413', '415', '422'] : []),
  ]
}

function referencesOf(part: Json): string[] {
  if (part === null || typeof part !== 'object') return []
  const own = typeof part.$ref === 'string' ? [part.$ref] : []
  return [...own, ...Object.values(part).flatMap(referencesOf)]
}

const resolves = (document: Json, reference: string): boolean =>
  reference
    .replace(/^#\//, '')
    .split('/')
    .reduce((part, name) => part?.[name], document) !== undefined

/** ajv does not need the discriminator to find the variant. */
const withoutMappings = (schemas: Record<string, Json>): Record<string, Json> =>
  JSON.parse(JSON.stringify(schemas, (key, value) => (key === 'mapping' ? undefined : value)))

/** Every component has to be a JSON Schema 2020-12 by itself. */
function brokenSchemas(described: Record<string, Json>): string[] {
  const schemas = withoutMappings(described)
  const ajv = new Ajv2020({ strict: true, strictRequired: false, discriminator: true })
  addFormats.default(ajv)
  ajv.addFormat('idn-email', true)
  ajv.addKeyword('components')
  ajv.addSchema({ $id: 'document', components: { schemas } } as object, 'document')
  return Object.keys(schemas).flatMap((name) => {
    try {
      ajv.compile({ $ref: `document#/components/schemas/${name}` })
      return []
    } catch (error) {
      return [`${name}: ${(error as Error).message}`]
    }
  })
}
