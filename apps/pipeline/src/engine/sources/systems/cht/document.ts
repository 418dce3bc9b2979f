import { textOf } from '../http/answers.ts'

export interface Wanted {
  /** By their codes; all when undefined. */
  forms: ReadonlySet<string> | undefined
  contacts: boolean
}

type Fields = Readonly<Record<string, unknown>>

/** Kinds of contacts of installations that do not configure their own. */
const contactTypes = new Set(['person', 'clinic', 'health_center', 'district_hospital'])

/**
 * A row of the list of documents, with what is in the document as the only row of a group: so each form and kind of contact has its table.
 * Undefined for what is neither report nor contact, or is not wanted. Of one that was deleted, nobody knows any more what it was.
 */
export function documentOf(result: unknown, wanted: Wanted, deleted: boolean): object | undefined {
  const { id, deleted: gone, doc } = (result ?? {}) as Fields
  const key = textOf(id)
  if (key === undefined || key.startsWith('_design/') || key.startsWith('org.couchdb.user:')) return undefined
  if (gone === true) return deleted ? { _id: key, deleted: true } : undefined
  if (typeof doc !== 'object' || doc === null) return undefined
  const kind = kindOf(doc as Fields, wanted)
  if (kind === undefined) return undefined
  const { _id, _rev, type, form, contact_type, name, reported_date, ...own } = doc as Fields
  const reported = momentOf(reported_date)
  const named = kind.startsWith('contact') ? { name } : {}
  return {
    _id,
    type,
    form,
    contact_type,
    ...named,
    reported_date: reported,
    deleted: false,
    [kind]: [{ reported_date: reported, ...(name !== undefined && { name }), ...filled(own) }],
  }
}

function kindOf({ type, form, contact_type: contactType }: Fields, { forms, contacts }: Wanted): string | undefined {
  if (type === 'data_record') {
    const code = textOf(form)
    return code !== undefined && (forms?.has(code) ?? true) ? `report ${code}` : undefined
  }
  const kind = type === 'contact' ? textOf(contactType) : contactTypes.has(String(type)) ? String(type) : undefined
  return contacts && kind !== undefined ? `contact ${kind}` : undefined
}

/** Milliseconds since 1970, as a moment. */
function momentOf(value: unknown): unknown {
  const time = typeof value === 'string' && /^\d{11,14}$/.test(value) ? Number(value) : value
  return typeof time === 'number' && Math.abs(time) < 8.64e15 ? new Date(time).toISOString() : value
}

/** Questions that nobody answered are empty texts. */
function filled(value: unknown): object {
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([key, one]): [string, unknown][] => {
      if (one === '') return []
      return [[key, isFields(one) ? filled(one) : one]]
    }),
  )
}

const isFields = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
