import { type Access, type AccessObject, translated } from '@sluice/contracts'

interface TranslationEntry {
  locale: string
  property: string
  value: string
}

/** A row type with more precise column types than the generated ones. */
export type RefinedRow<Row, Known> = Omit<Row, keyof Known> & Known

/** Columns of every record that users can share inside their client. */
export interface SharedColumns {
  translations: TranslationEntry[]
  public_access: Access['publicAccess']
  user_access: AccessObject[]
  user_group_access: AccessObject[]
}

interface TranslatedRow {
  translations: { locale: string; property: string; value: string }[]
}

/** Returns a text property in the reader's language (see `translated`). Undefined stays undefined. */
export function translatedProperty<T extends string | null | undefined>(
  row: TranslatedRow,
  property: string,
  plain: T,
  locales: readonly string[],
): T extends string ? string : string | undefined {
  const text =
    plain === null || plain === undefined ? undefined : translated(plain, row.translations, property, locales)
  return text as T extends string ? string : string | undefined
}
