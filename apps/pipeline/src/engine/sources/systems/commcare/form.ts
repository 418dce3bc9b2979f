import type { Form } from './applications.ts'

/**
 * A submission without what XML left in it: attributes are called like fields, what is not answered is not there, and a group that repeats is a
 * list even where it came once. What the XML says of the form itself is `xform`.
 */
export function shaped(record: unknown, form: Form | undefined): unknown {
  const answers = (record as { form?: unknown } | null)?.form
  if (typeof answers !== 'object' || answers === null || Array.isArray(answers)) return record
  const {
    '@name': name,
    '@version': version,
    '@xmlns': xmlns,
    '@uiVersion': _,
    ...own
  } = answers as Record<string, unknown>
  return { ...(record as object), xform: { name, version, xmlns }, form: valueOf(own, '', form) }
}

function valueOf(value: unknown, path: string, form: Form | undefined): unknown {
  if (Array.isArray(value)) {
    const some = value.map((one) => valueOf(one, path, form))
    // A group of which nothing is answered comes as an empty text.
    return form?.repeats.has(path) ? some.map((one) => (typeof one === 'object' ? one : {})) : some
  }
  if (typeof value === 'string' && form?.points.has(path)) return pointOf(value)
  if (typeof value !== 'object' || value === null) return value === '' ? undefined : value
  const fields: Record<string, unknown> = {}
  for (const [key, one] of Object.entries(value)) {
    if (key.startsWith('#')) continue
    const plain = key.replace(/^@/, '')
    const called = plain !== key && plain in value ? key : plain
    const at = path === '' ? plain : `${path}/${plain}`
    const shapedOne = valueOf(one, at, form)
    if (shapedOne === undefined) continue
    const single = form?.repeats.has(at) && typeof shapedOne === 'object' && !Array.isArray(shapedOne)
    fields[called] = single ? [shapedOne] : shapedOne
  }
  return fields
}

/** `latitude longitude altitude accuracy`. */
function pointOf(text: string): object | undefined {
  const parts = text.trim().split(/\s+/).map(Number)
  const [latitude, longitude, altitude, accuracy] = parts
  const known = Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, one]) => Number.isFinite(one))
  return text.trim() === '' ? undefined : Object.fromEntries(known)
}
