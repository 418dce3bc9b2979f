import type { Access, AccessObject } from '@sluice/contracts'

interface TranslationEntry {
  locale: string
  property: string
  value: string
}

/** A row whose generated type says `Json` or `string` where we know better. */
export type Refined<Row, Known> = Omit<Row, keyof Known> & Known

/** What is known of every record that people share inside their client. */
export interface SharedColumns {
  translations: TranslationEntry[]
  public_access: Access['publicAccess']
  user_access: AccessObject[]
  user_group_access: AccessObject[]
}
