import { isExact } from '../tables/exact-numbers.ts'

/** A submission without links to what stands in it anyway; points become their four numbers, accuracy among them. */
export function shaped(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shaped)
  if (typeof value !== 'object' || value === null || isExact(value)) return value
  const shape = value as Shape
  if ('type' in value && 'coordinates' in value) return shape.type === 'Point' ? pointOf(shape) : value
  const own = Object.entries(value).filter(([key]) => !key.endsWith('@odata.navigationLink'))
  return Object.fromEntries(own.map(([key, one]) => [key, shaped(one)]))
}

/** GeoJSON. */
interface Shape {
  type?: unknown
  coordinates?: unknown
  properties?: unknown
}

function pointOf({ coordinates, properties }: Shape): object {
  const [longitude, latitude, altitude] = Array.isArray(coordinates) ? (coordinates as unknown[]) : []
  const { accuracy } = (properties ?? {}) as { accuracy?: unknown }
  return Object.fromEntries(
    Object.entries({ latitude, longitude, altitude, accuracy }).filter(([, one]) => Number.isFinite(one)),
  )
}
