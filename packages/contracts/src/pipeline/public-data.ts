import { Type } from 'typebox'
import { noUnknownFields, defineContract, type TypeOf } from '../contract.ts'
import { dataTypes } from '../data-type.ts'
import { exportFields } from './export-format.ts'
import { SingleLineText, UrlOrEmpty, TagList, LongText, Timestamp, Uid, NonNegativeInteger } from '../field-types.ts'

const columnLimit = { maxItems: 1600 }

/** A public column, without statistics of its values. */
const PublicColumn = Type.Object(
  { name: SingleLineText, label: SingleLineText, dataType: Type.Enum([...dataTypes]) },
  { ...noUnknownFields, title: 'PublicColumn' },
)

/** A public table, without its creator, source and data. */
export const PublicMetadata = defineContract(
  'PublicMetadata',
  Type.Object(
    {
      id: Uid,
      name: SingleLineText,
      displayName: LongText,
      description: Type.Optional(LongText),
      displayDescription: Type.Optional(LongText),
      tags: TagList,
      url: Type.Optional(UrlOrEmpty),
      reference: Type.Optional(LongText),
      source: Type.Optional(LongText),
      termsOfUse: Type.Optional(LongText),
      /** The time at which its rows were last loaded or filled. */
      lastUpdated: Type.Optional(Timestamp),
      rowCount: NonNegativeInteger,
      columns: Type.Array(PublicColumn, columnLimit),
    },
    noUnknownFields,
  ),
)
export type PublicMetadata = TypeOf<typeof PublicMetadata>

export const PublicData = defineContract(
  'PublicData',
  Type.Object(
    {
      id: Uid,
      columns: Type.Array(PublicColumn, columnLimit),
      rows: Type.Array(Type.Array(Type.Unknown(), columnLimit), { maxItems: 1_000 }),
      height: NonNegativeInteger,
      width: NonNegativeInteger,
    },
    noUnknownFields,
  ),
)
export type PublicData = TypeOf<typeof PublicData>

export const PublicDataQuery = defineContract(
  'PublicDataQuery',
  Type.Object(
    {
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: 'Default: 100.' })),
      ...exportFields,
    },
    noUnknownFields,
  ),
)
export type PublicDataQuery = TypeOf<typeof PublicDataQuery>
