import { Type } from 'typebox'
import { closed, contract, type TypeOf } from '../contract.ts'
import { dataTypes } from '../data-type.ts'
import { Line, Link, Tags, Text, Timestamp, Uid, Count } from '../field-types.ts'

const many = { maxItems: 1600 }

/** A public column, without statistics of its values. */
const PublicColumn = Type.Object(
  { name: Line, label: Line, dataType: Type.Enum([...dataTypes]) },
  { ...closed, title: 'PublicColumn' },
)

/** A public table, without its creator, source and data. */
export const PublicMetadata = contract(
  'PublicMetadata',
  Type.Object(
    {
      id: Uid,
      name: Line,
      displayName: Text,
      description: Type.Optional(Text),
      displayDescription: Type.Optional(Text),
      tags: Tags,
      url: Type.Optional(Link),
      reference: Type.Optional(Text),
      source: Type.Optional(Text),
      termsOfUse: Type.Optional(Text),
      /** When its rows were last loaded or filled. */
      lastUpdated: Type.Optional(Timestamp),
      rowCount: Count,
      columns: Type.Array(PublicColumn, many),
    },
    closed,
  ),
)
export type PublicMetadata = TypeOf<typeof PublicMetadata>

export const PublicData = contract(
  'PublicData',
  Type.Object(
    {
      id: Uid,
      columns: Type.Array(PublicColumn, many),
      rows: Type.Array(Type.Array(Type.Unknown(), many), { maxItems: 1_000 }),
      height: Count,
      width: Count,
    },
    closed,
  ),
)
export type PublicData = TypeOf<typeof PublicData>

export const PublicDataQuery = contract(
  'PublicDataQuery',
  Type.Object(
    {
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: '100 when absent.' })),
    },
    closed,
  ),
)
export type PublicDataQuery = TypeOf<typeof PublicDataQuery>
