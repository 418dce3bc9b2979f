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
  /** Where in the object they begin: what was asked for, or 0 where the store gives whole objects only. */
  from: number
  /** Whether they came packed for the way, and were unpacked: then they are all of the object, of unknown length. */
  unpacked: boolean
  chunks: AsyncIterable<Uint8Array>
  /** Where they are not read after all. */
  cancel(): Promise<void>
}

/**
 * A bucket or container. Everything throws `SourceProblem` for what a person can mend, `PassingTrouble` for what waiting may
 * mend, or the signal's reason.
 */
export interface ObjectStore extends AsyncDisposable {
  /** The store's host, for messages. */
  host: string
  /** One object by its key. Throws where there is none. */
  find(key: string, signal: AbortSignal): Promise<StoredObject>
  /** One page of the objects whose keys begin with `prefix`, in the order of the store. */
  list(prefix: string, page: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  /** The bytes from `from` up to `to`, of this very version of the object. */
  open(object: StoredObject, from: number, to: number, signal: AbortSignal): Promise<ObjectBytes>
}

export interface ListedPage {
  objects: StoredObject[]
  /** What is given to get the next page; undefined behind the last one. */
  next: string | undefined
}
