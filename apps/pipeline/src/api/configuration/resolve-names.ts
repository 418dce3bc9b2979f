import {
  type Configuration,
  type ConfigurationKind,
  type ConfiguredObject,
  configurationKinds,
  type FieldViolation,
} from '@sluice/contracts'
import type { Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { findRepeatedNames, readUidsByName } from '../bulk-saves/save-by-name.ts'
import { createViolationList, type ViolationList } from '../bulk-saves/violation-list.ts'
import { configuredKinds, type FindId } from './kinds.ts'

/** The id of an object that another request deleted after the names were checked. Saving then reports that it does not exist. */
const nilUid = '00000000-0000-0000-0000-000000000000'

export type NamesOfKinds = Awaited<ReturnType<typeof resolveNames>>

/**
 * Checks the names in a configuration, and returns look-ups of the ids that they stand for. A reference names an object of the
 * configuration or a stored one. Throws the violations of all objects.
 */
export async function resolveNames(trx: Transaction<DB>, configuration: Configuration, client: string) {
  const violations = createViolationList()
  const referenced = collectReferences(configuration)
  const stored = new Map<ConfigurationKind, Map<string, string>>()
  for (const kind of configurationKinds) {
    const objects = configuration[kind] ?? []
    const names = objects.flatMap(({ name, was }) => (was === undefined ? [name] : [name, was]))
    const wanted = [...names, ...referenced.filter((one) => one.kind === kind).map(({ name }) => name)]
    stored.set(kind, await readUidsByName(trx, tableOf(kind), client, wanted))
  }
  for (const kind of configurationKinds) checkNames(kind, configuration[kind] ?? [], stored.get(kind)!, violations)
  const given = new Map(configurationKinds.map((kind) => [kind, indexNames(configuration[kind] ?? [])]))
  for (const { kind, name, pointer } of referenced) {
    const { names, renamed } = given.get(kind)!
    if (names.has(name)) continue
    const newName = renamed.get(name)
    if (newName !== undefined)
      violations.add(pointer, `"${name}" is renamed to "${newName}" by this configuration. Use the new name.`)
    else if (!stored.get(kind)!.has(name)) violations.add(pointer, describeMissing(kind, name))
    if (violations.isFull) break
  }
  violations.throwIfAny()

  const uids = new Map<ConfigurationKind, Map<string, string>>()
  const namesByUid = new Map<string, string>()

  const findId: FindId = (kind, name) => uids.get(kind)?.get(name) ?? nilUid

  return {
    findId,

    /** Reads the ids of the objects that these objects refer to, as stored now. Call it before these objects are saved. */
    async prepare(on: Transaction<DB>, kind: ConfigurationKind, objects: readonly ConfiguredObject[]): Promise<void> {
      const references = collectReferences({ [kind]: objects })
      for (const target of new Set(references.map((one) => one.kind))) {
        const names = references.filter((one) => one.kind === target).map(({ name }) => name)
        const found = await readUidsByName(on, tableOf(target), client, names)
        uids.set(target, found)
        for (const [name, uid] of found) namesByUid.set(uid, name)
      }
    },

    /** Returns a violation in terms of the configuration: with names instead of the ids of referenced objects. */
    describeViolation({ pointer, detail }: FieldViolation): FieldViolation {
      const named = [...namesByUid].reduce(
        (text, [uid, name]) =>
          text.includes(uid)
            ? text.replaceAll(`the id ${uid}`, `the name "${name}"`).replaceAll(uid, `"${name}"`)
            : text,
        detail,
      )
      return { pointer: pointer.replace(/\/u?id$/, '/name'), detail: named }
    },
  }
}

/** Returns the names of objects, and the new names of renamed ones by their former names. */
const indexNames = (objects: readonly ConfiguredObject[]) => ({
  names: new Set(objects.map(({ name }) => name)),
  renamed: new Map(objects.flatMap(({ name, was }) => (was === undefined ? [] : [[was, name] as const]))),
})

const tableOf = (kind: ConfigurationKind) => configuredKinds[kind].named.records.kind.table

function checkNames(
  kind: ConfigurationKind,
  objects: readonly ConfiguredObject[],
  stored: ReadonlyMap<string, string>,
  violations: ViolationList,
): void {
  const { noun } = configuredKinds[kind].named.records.kind
  for (const [index, name] of findRepeatedNames(objects))
    violations.add(`/${kind}/${index}/name`, `"${name}" is in the list twice. Remove one of the two.`)
  const names = new Set(objects.map(({ name }) => name))
  const former = new Set<string>()
  for (const [index, { name, was }] of objects.entries()) {
    if (was === undefined) continue
    const refuse = (detail: string) => violations.add(`/${kind}/${index}/was`, detail)
    if (was === name) refuse(`The former name equals the name. Leave out was.`)
    else if (names.has(was))
      refuse(`Another ${noun} of the configuration has the name "${was}". Rename the objects in two steps.`)
    else if (former.has(was))
      refuse(`Another ${noun} of the configuration has the former name "${was}", too. Correct one.`)
    else if (stored.has(was) && stored.has(name))
      refuse(`Both "${was}" and "${name}" exist. Leave out was, or delete one of the two.`)
    former.add(was)
  }
}

const describeMissing = (kind: ConfigurationKind, name: string): string =>
  `No ${configuredKinds[kind].named.records.kind.noun} has the name "${name}". Add it to the configuration, or correct the name.`

interface NamedReference {
  kind: ConfigurationKind
  name: string
  pointer: string
}

function collectReferences(
  configuration: Partial<Record<ConfigurationKind, readonly ConfiguredObject[]>>,
): NamedReference[] {
  const found: NamedReference[] = []
  for (const kind of configurationKinds)
    for (const [index, object] of (configuration[kind] ?? []).entries())
      configuredKinds[kind].toBody(object, (target, name, pointer) => {
        found.push({ kind: target, name, pointer: `/${kind}/${index}${pointer}` })
        return ''
      })
  return found
}
