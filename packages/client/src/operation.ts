/** A type without a value. It carries the type parameter for inference. */
interface TypeCarrier<T> {
  readonly '~typeOf'?: T
}

/** An operation of a service: how it is requested, and the types of its input and result. */
export interface Operation<Path extends string = string, Query = any, Body = any, Result = any, Form = any> {
  /** The HTTP method in lower case. */
  method: string
  /** The path below `/api/v1`, with `:name` for parameters. */
  path: Path
  /** `write` if the operation changes something. Default: `read` for GET, otherwise `write`. */
  effect?: 'read' | 'write'
  /** Whether the response is a stream of server-sent events. */
  events?: boolean
  /** The media type, if the body is a file. */
  upload?: string
  query?: TypeCarrier<Query>
  body?: TypeCarrier<Body>
  response?: TypeCarrier<Result>
  /** The fields before the file in a `multipart/form-data` upload. */
  form?: TypeCarrier<Form>
}

/** The parameters of a path: `{ uid: string }` for `/views/:uid`. */
type PathParameters<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & PathParameters<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : {}

/** A field that is required unless its type allows undefined. */
type InputField<Name extends string, T> = undefined extends T
  ? { [K in Name]?: undefined }
  : {} extends T
    ? { [K in Name]?: T }
    : { [K in Name]: T }

export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Additional headers, such as `if-match` with the ETag of the version that was read. */
  headers?: Record<string, string>
}

type PathAndQuery<Path extends string, Query> = InputField<
  'params',
  keyof PathParameters<Path> extends never ? {} : PathParameters<Path>
> &
  InputField<'query', Query>

export type CallInput<Path extends string, Query, Body> = PathAndQuery<Path, Query> &
  // The service distinguishes `{}` from an absent body.
  (undefined extends Body ? { body?: undefined } : { body: Body }) &
  CallOptions

/** The input parameter, which is optional if all its fields are optional. */
export type OptionalInput<Input> = {} extends Input ? [input?: Input] : [input: Input]

export type UploadInput<Path extends string, Query, Form> = PathAndQuery<Path, Query> &
  (undefined extends Form ? { form?: undefined } : InputField<'form', Form>) &
  CallOptions

/** The input of any operation, without its types. */
export interface UntypedInput extends CallOptions {
  params?: unknown
  query?: unknown
  body?: unknown
}
