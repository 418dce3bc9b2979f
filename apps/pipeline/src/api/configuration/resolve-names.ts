import {
  type Configuration,
  type ConfigurationKind,
  type ConfiguredObject,
  configurationKinds,
  type FieldViolation,
} from '@sluice/contracts'
import type { Caller } from '@sluice/http-server'
import { sql, type Transaction } from 'kysely'
import type { DB } from '../../database.ts'
import { findRepeatedNames, readUidsByName } from '../bulk-saves/save-by-name.ts'
import { createViolationList, type ViolationList } from '../bulk-saves/violation-list.ts'
import { kindAdapters, type FindId } from './object-kind-adapters.ts'

/**
 * Stands for the id of an object that was deleted after the names were checked. No object has this id, so the save
 * reports the missing object.
 */
const nilUid = '00000000-0000-0000-0000-000000000000'

export type NamesOfKinds = Awaited<ReturnType<typeof resolveNames>>

/**
 * Returns the stored object that each given object replaces, in the form of an export. Omits objects that the caller
 * may not see.
 */
export type ReadStoredObjects = (
  kind: ConfigurationKind,
  objects: readonly ConfiguredObject[],
) => Promise<ReadonlyMap<ConfiguredObject, ConfiguredObject>>

/**
 * Checks the names in a configuration, and returns functions that look up ids by name. A reference must name an
 * object of the configuration or a stored object that the caller may see. An unchanged reference to another stored
 * object is allowed too. Throws the violations of all objects.
 */
export async function resolveNames(
  trx: Transaction<DB>,
  configuration: Configuration,
  caller: Caller,
  readStoredObjects: ReadStoredObjects,
) {
  const { client } = caller
  const violations = createViolationList()
  const referenced = collectReferences(configuration)
  const stored = new Map<ConfigurationKind, Map<string, string>>()
  for (const kind of configurationKinds) {
    const objects = configuration[kind] ?? []
    const names = objects.flatMap(({ name, was }) => (was === undefined ? [name] : [name, was]))
    stored.set(kind, await readUidsByName(trx, tableOf(kind), client, names))
  }
  for (const kind of configurationKinds) checkNames(kind, configuration[kind] ?? [], stored.get(kind)!, violations)
  const visible = await readVisibleNames(trx, referenced, caller)
  const configuredNames = new Map(configurationKinds.map((kind) => [kind, indexNames(configuration[kind] ?? [])]))
  const unknown: NamedReference[] = []
  for (const reference of referenced) {
    const { kind, name, pointer } = reference
    const { names, newNamesByFormer } = configuredNames.get(kind)!
    if (names.has(name)) continue
    const newName = newNamesByFormer.get(name)
    if (newName !== undefined)
      violations.add(pointer, `"${name}" is renamed to "${newName}" by this configuration. Use the new name.`)
    else if (!visible.get(kind)!.has(name)) unknown.push(reference)
    if (violations.isFull) break
  }
  for (const { kind, name, pointer } of await excludeStoredReferences(unknown, readStoredObjects))
    violations.add(pointer, describeMissing(kind, name))
  violations.throwIfAny()

  const uids = new Map<ConfigurationKind, Map<string, string>>()
  const namesByUid = new Map<string, string>()

  const findId: FindId = (kind, name) => uids.get(kind)?.get(name) ?? nilUid

  return {
    findId,

    /** Reads the current ids of the objects to which these objects refer. Call it before you save these objects. */
    async prepare(trx: Transaction<DB>, kind: ConfigurationKind, objects: readonly ConfiguredObject[]): Promise<void> {
      const references = collectReferences({ [kind]: objects })
      for (const [target, referencesToKind] of Map.groupBy(references, (reference) => reference.kind)) {
        const names = referencesToKind.map(({ name }) => name)
        const uidsByName = await readUidsByName(trx, tableOf(target), client, names)
        uids.set(target, uidsByName)
        for (const [name, uid] of uidsByName) namesByUid.set(uid, name)
      }
    },

    /** Rewrites a violation for the document: replaces ids of referenced objects by their names. */
    describeViolation({ pointer, detail }: FieldViolation): FieldViolation {
      let detailWithNames = detail
      for (const [uid, name] of namesByUid)
        detailWithNames = detailWithNames.replaceAll(`the id ${uid}`, `the name "${name}"`).replaceAll(uid, `"${name}"`)
      return { pointer: pointer.replace(/\/u?id$/, '/name'), detail: detailWithNames }
    },
  }
}

/** Returns the names of the referenced objects that the caller may see, by kind. */
async function readVisibleNames(
  trx: Transaction<DB>,
  referenced: readonly NamedReference[],
  caller: Caller,
): Promise<Map<ConfigurationKind, Set<string>>> {
  const visible = new Map<ConfigurationKind, Set<string>>()
  for (const [kind, references] of Map.groupBy(referenced, (reference) => reference.kind)) {
    const { scope, table } = kindAdapters[kind].bulkSave.records.definition
    const names = [...new Set(references.map(({ name }) => name))]
    const { rows } = await sql<{ name: string }>`
      select r.name from ${sql.table(table)} as r where r.name = any(${names}) and ${scope(caller, 'READ')}`.execute(
      trx,
    )
    visible.set(kind, new Set(rows.map(({ name }) => name)))
  }
  return visible
}

/**
 * Returns the references that the stored objects do not already have. Callers may keep, but not add, a reference to an
 * object that they may not see.
 */
async function excludeStoredReferences(
  references: readonly NamedReference[],
  readStoredObjects: ReadStoredObjects,
): Promise<NamedReference[]> {
  const missing: NamedReference[] = []
  for (const [ownerKind, referencesOfKind] of Map.groupBy(references, (reference) => reference.ownerKind)) {
    const owners = new Set(referencesOfKind.map(({ owner }) => owner))
    const storedObjects = await readStoredObjects(ownerKind, [...owners])
    for (const reference of referencesOfKind) {
      const storedOwner = storedObjects.get(reference.owner)
      const storedReferences = storedOwner ? collectReferences({ [ownerKind]: [storedOwner] }) : []
      const isStored = storedReferences.some(({ kind, name }) => kind === reference.kind && name === reference.name)
      if (!isStored) missing.push(reference)
    }
  }
  return missing
}

/** Returns the names of the objects, and a map from the former to the new name of each renamed object. */
const indexNames = (objects: readonly ConfiguredObject[]) => ({
  names: new Set(objects.map(({ name }) => name)),
  newNamesByFormer: new Map(objects.flatMap(({ name, was }) => (was === undefined ? [] : [[was, name] as const]))),
})

const tableOf = (kind: ConfigurationKind) => kindAdapters[kind].bulkSave.records.definition.table

/**
 * Adds a violation for each repeated name, and for each former name (`was`) that cannot be used: it equals the name of
 * this or another object in the configuration, or the former name of another one, or stored objects have both names.
 */
function checkNames(
  kind: ConfigurationKind,
  objects: readonly ConfiguredObject[],
  stored: ReadonlyMap<string, string>,
  violations: ViolationList,
): void {
  const { noun } = kindAdapters[kind].bulkSave.records.definition
  for (const [index, name] of findRepeatedNames(objects))
    violations.add(`/${kind}/${index}/name`, `"${name}" is in the list twice. Remove one of the two.`)
  const names = new Set(objects.map(({ name }) => name))
  const formerNames = new Set<string>()
  for (const [index, { name, was }] of objects.entries()) {
    if (was === undefined) continue
    const refuse = (detail: string) => violations.add(`/${kind}/${index}/was`, detail)
    if (was === name) refuse(`The former name (was) equals the name. Omit was.`)
    else if (names.has(was))
      refuse(
        `The former name "${was}" (was) is the name of another ${noun} of the configuration. Rename in two steps: apply the rename first, then add the other ${noun}.`,
      )
    else if (formerNames.has(was))
      refuse(`Another ${noun} of the configuration also has the former name "${was}". Correct one of the two.`)
    else if (stored.has(was) && stored.has(name))
      refuse(`Both "${was}" and "${name}" exist. Omit was, or delete one of the two objects.`)
    formerNames.add(was)
  }
}

const describeMissing = (kind: ConfigurationKind, name: string): string =>
  `No ${kindAdapters[kind].bulkSave.records.definition.noun} that you may see has the name "${name}". Add it to the configuration, or correct the name.`

interface NamedReference {
  /** The object that contains the reference. */
  owner: ConfiguredObject
  ownerKind: ConfigurationKind
  kind: ConfigurationKind
  name: string
  pointer: string
}

/** Returns the references from objects of the configuration to other objects. */
function collectReferences(
  configuration: Partial<Record<ConfigurationKind, readonly ConfiguredObject[]>>,
): NamedReference[] {
  const references: NamedReference[] = []
  for (const ownerKind of configurationKinds)
    for (const [index, owner] of (configuration[ownerKind] ?? []).entries()) {
      // `toBody` calls this function for the id of each reference. The body with these ids is not used.
      const collectReference: FindId = (kind, name, pointer) => {
        references.push({ owner, ownerKind, kind, name, pointer: `/${ownerKind}/${index}${pointer}` })
        return nilUid
      }
      kindAdapters[ownerKind].toBody(owner, collectReference)
    }
  return references
}
