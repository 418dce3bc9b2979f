import type { Selectable } from 'kysely'
import type { Refined, SharedColumns } from '@sluice/records'
import type { Destinations } from '../../database.ts'
import type { ImportOptions, TargetSettings } from '../../engine/destinations/target.ts'

export type DestinationRow = Refined<
  Selectable<Destinations>,
  SharedColumns & { settings: TargetSettings; import_options: ImportOptions }
>
