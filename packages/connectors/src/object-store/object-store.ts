export interface StoredObject {
  key: string
  /** Stored size in bytes. */
  size: number
  /** The store's version mark of the object's content, as in the header; it may only be compared for equality. */
  etag: string
  lastModified: Date
}

/** A response with bytes of an object. */
export interface ObjectBytes {
  /** The offset of the first byte: the requested one, or 0 if the store returns whole objects only. */
  from: number
  /** Whether the response had a content encoding and was decompressed: then it is the whole object, of unknown length. */
  unpacked: boolean
  chunks: AsyncIterable<Uint8Array>
  /** Cancels an unread response. */
  cancel(): Promise<void>
}

/**
 * A bucket or container. All operations throw `SourceProblem` for problems that a user can fix, `TransientError` for
 * problems that may pass, or the signal's reason.
 */
export interface ObjectStore extends AsyncDisposable {
  host: string
  /** Finds an object by its key. Throws if it does not exist. */
  find(key: string, signal: AbortSignal): Promise<StoredObject>
  /** Lists one page of the objects whose keys start with `prefix`, in the order of the store. */
  list(prefix: string, page: ListedPage['next'], signal: AbortSignal): Promise<ListedPage>
  /** Returns the bytes from `from` up to `to`, of exactly this version of the object. */
  open(object: StoredObject, from: number, to: number, signal: AbortSignal): Promise<ObjectBytes>
}

export interface ListedPage {
  objects: StoredObject[]
  /** The token of the next page; undefined after the last page. */
  next: string | undefined
}
