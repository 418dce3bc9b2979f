import type { PathParameters } from '../operation.ts'
import type { UploadBody } from './exchange.ts'

export interface Manners {
  /** Ends the call with the signal's reason. */
  signal?: AbortSignal
  requestId?: string
  /** W3C trace context. */
  traceparent?: string
}

type Given<Name extends string, T> = undefined extends T
  ? { [K in Name]?: undefined }
  : {} extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T }

type Params<Path extends string> = Given<'params', keyof PathParameters<Path> extends never ? {} : PathParameters<Path>>

/** What a call of an operation with these parameters takes. */
export type CallInput<Path extends string, Query, Body> = Params<Path> &
  Given<'query', Query> &
  // `{}` is a body too: the service tells it from none.
  (undefined extends Body ? { body?: undefined } : { body: Body }) &
  Manners

/** The input may be left out where nothing in it is needed. */
export type Optional<Input> = {} extends Input ? [input?: Input] : [input: Input]

export type UploadInput<Path extends string, Query> = Params<Path> &
  Given<'query', Query> &
  Manners & {
    body: UploadBody
    /** Bytes, where known: the service can then refuse before it has read them. */
    length?: number
    /** With its boundary, where the body is a form. */
    contentType?: string
  }
