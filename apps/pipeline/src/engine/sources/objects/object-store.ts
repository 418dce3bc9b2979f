/** One object as a store lists it. */
export interface StoredObject {
  key: string
  /** Bytes as they are stored. */
  size: number
  /** The store's mark of these very bytes, as it stands in a header; it means nothing but equal or not. */
  etag: string
  lastModified: Date
}

/** Bytes of an object on their way. */
export interface ObjectBytes {
  /** The offset of the first byte: the requested one, or 0 if the store returns whole objects only. */
  from: number
  /** Whether they came packed for the way, and were unpacked: then they are all of the object, of unknown length. */
  unpacked: boolean
  chunks: AsyncIterable<Uint8Array>
  /** Cancels the response if it is not read. */
  cancel(): Promise<void>
}

/**
 * A bucket or container. Everything throws `SourceProblem` for what a person can mend, `TransientError` for what waiting may
 * mend, or the signal's reason.
 */
export interface ObjectStore extends AsyncDisposable {
  host: string
  /** Finds an object by its key. Throws if it does not exist. */
  find(key: string, signal: AbortSignal): Promise<StoredObject>
  /** Lists one page of the objects whose keys start with `prefix`, in the order of the store. */
  list(prefix: string, page: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  /** The bytes from `from` up to `to`, of this very version of the object. */
  open(object: StoredObject, from: number, to: number, signal: AbortSignal): Promise<ObjectBytes>
}

export interface ListedPage {
  objects: StoredObject[]
  /** The token of the next page; undefined after the last page. */
  next: string | undefined
}
