import { identityOperations, pipelineOperations, type OperationSignature } from '@sluice/contracts'
import type { Artefact } from './generated-files.ts'

/** The keywords of JSON Schema that contracts use. */
interface JsonSchema {
  title?: string
  description?: string
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
  items?: JsonSchema
  properties?: Record<string, JsonSchema>
  patternProperties?: Record<string, JsonSchema>
  additionalProperties?: boolean | JsonSchema
  required?: string[]
  readOnly?: boolean
}

type Nouns = Record<string, Record<string, OperationSignature>>

/**
 * Generates the modules of packages/client with the operations of each service and their request and response types.
 */
export const generateClientModules = (): Artefact[] => [
  generateClientModule('identity', identityOperations),
  generateClientModule('pipeline', pipelineOperations),
]

function generateClientModule(service: string, nouns: Nouns): Artefact {
  const types = new TypePrinter()
  const operations = Object.entries(nouns).flatMap(([noun, signatures]) => {
    const open = Object.entries(signatures).filter(([, { guard }]) => guard !== 'service')
    if (open.length === 0) return []
    const lines = open.map(([verb, signature]) => printOperation(verb, signature, types))
    return `export const ${exportName(noun)} = {\n${lines.join('\n')}\n}`
  })
  const header = `// Generated from packages/contracts by "npm run generate".\nimport type { Operation } from '../operation.ts'`
  const content = [header, ...operations, ...types.declarations()].join('\n\n')
  return { file: `packages/client/src/generated/${service}.ts`, content: `${content}\n` }
}

/** Returns the export name of a noun. `public` is a reserved word. */
const exportName = (noun: string): string => (noun === 'public' ? 'publicData' : noun)

function printOperation(verb: string, signature: OperationSignature, types: TypePrinter): string {
  const { method, path, effect, events, upload, query, body, response, form } = signature
  const fields = [
    `method: ${quote(method)}`,
    `path: ${quote(path)}`,
    ...(effect === (method === 'get' ? 'read' : 'write') ? [] : [`effect: ${quote(effect)}`]),
    ...(events ? ['events: true'] : []),
    ...(upload ? [`upload: ${quote(upload)}`] : []),
  ]
  const parts = [query, body, response, ...(form ? [form] : [])].map((schema) =>
    schema ? types.print(schema as JsonSchema) : 'undefined',
  )
  const type = `Operation<${[quote(path), ...parts, ...(form ? [] : ['undefined'])].join(', ')}>`
  return `${comment(describe(signature), '  ')}  ${verb}: { ${fields.join(', ')} } as ${type},`
}

function describe({ summary, description, guard }: OperationSignature): string {
  const roles = Array.isArray(guard) ? `Needs ${guard.map((role) => `\`${role}\``).join(' or ')}.` : ''
  return [`${summary}.`, description, roles].filter(Boolean).join(' ')
}

const quote = (text: string): string => `'${text}'`

const comment = (text: string | undefined, indent: string): string =>
  text ? `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */\n` : ''

/** Prints schemas as TypeScript. Titled objects and unions become declarations with that name. */
class TypePrinter {
  readonly #declarations = new Map<string, string>()

  declarations(): string[] {
    return [...this.#declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text)
  }

  print(schema: JsonSchema): string {
    const { title, properties, oneOf, anyOf } = schema
    const isNamed = title !== undefined && (properties ?? oneOf ?? anyOf?.some((one) => one.title !== undefined))
    if (!isNamed) return this.#printInline(schema, '')
    if (!this.#declarations.has(title)) {
      // The name is declared before its parts, because they may refer to it.
      this.#declarations.set(title, '')
      this.#declarations.set(title, this.#declare(title, schema))
    }
    return title
  }

  #declare(title: string, schema: JsonSchema): string {
    const head = comment(schema.description, '')
    if (schema.oneOf) return head + this.#declareVariants(title, schema.oneOf)
    if (schema.properties) return `${head}export interface ${title} ${this.#printObject(schema, '')}`
    return `${head}export type ${title} = ${this.#printInline(schema, '')}`
  }

  /** The fields that all variants share are declared once. */
  #declareVariants(title: string, variants: JsonSchema[]): string {
    const lines = variants.map((variant) => this.#fieldLines(variant, '  '))
    const shared = lines[0]!.filter((line) => lines.every((others) => others.includes(line)))
    const base = `${title}Fields`
    this.#declarations.set(base, `export interface ${base} {\n${shared.join('\n')}\n}`)
    for (const [index, variant] of variants.entries()) {
      const ownFields = lines[index]!.filter((line) => !shared.includes(line))
      const name = variant.title!
      this.#declarations.set(name, `export interface ${name} extends ${base} {\n${ownFields.join('\n')}\n}`)
    }
    return `export type ${title} =\n${variants.map((variant) => `  | ${variant.title}`).join('\n')}`
  }

  #fieldLines({ properties = {}, required = [] }: JsonSchema, indent: string): string[] {
    // Bodies accept the fields of responses and ignore them.
    const fields = Object.entries(properties).filter(([, { readOnly }]) => !readOnly)
    return fields.map(([name, schema]) => {
      const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
      const type = schema.title === undefined ? this.#printInline(schema, indent) : this.print(schema)
      return `${comment(schema.description, indent)}${indent}${key}${required.includes(name) ? '' : '?'}: ${type}`
    })
  }

  #printObject(schema: JsonSchema, indent: string): string {
    const lines = this.#fieldLines(schema, `${indent}  `)
    return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${indent}}`
  }

  #printInline(schema: JsonSchema, indent: string): string {
    if ('const' in schema) return JSON.stringify(schema.const)
    if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
    const variants = schema.anyOf ?? schema.oneOf
    if (variants) {
      const parts = new Set(variants.map((one) => this.#printPart(one, indent)))
      // Any list or object: the union is that of all JSON values.
      return parts.has('unknown[]') && parts.has('{}') ? 'unknown' : [...parts].join(' | ')
    }
    if (Array.isArray(schema.type))
      return schema.type.map((type) => this.#printInline({ ...schema, type }, indent)).join(' | ')
    switch (schema.type) {
      case 'integer':
        return 'number'
      case 'string':
      case 'number':
      case 'boolean':
      case 'null':
        return schema.type
      case 'array':
        return this.#printArray(this.#printPart(schema.items ?? {}, indent))
      case 'object':
        return this.#printMap(schema, indent)
      default:
        return 'unknown'
    }
  }

  #printPart(schema: JsonSchema, indent: string): string {
    return schema.title === undefined ? this.#printInline(schema, indent) : this.print(schema)
  }

  #printArray(item: string): string {
    return /^[\w[\]]+$/.test(item) ? `${item}[]` : `(${item})[]`
  }

  #printMap(schema: JsonSchema, indent: string): string {
    if (schema.properties) return this.#printObject(schema, indent)
    const [values] = Object.values(schema.patternProperties ?? {})
    const item = values ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined)
    return item ? `Record<string, ${this.#printPart(item, indent)}>` : 'object'
  }
}
