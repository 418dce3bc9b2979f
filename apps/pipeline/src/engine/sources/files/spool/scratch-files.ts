import { closeSync } from 'node:fs'
import { openSpool } from './spool-file.ts'

/** Unlinked temporary files for normalising one upload. Disposing closes them, which frees their disk space. */
export class ScratchFiles implements Disposable {
  readonly #directory: string
  readonly #descriptors: number[] = []

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Throws SourceProblem DISK_FULL or SPOOL_NOT_WRITABLE. */
  open(): number {
    const descriptor = openSpool(this.#directory)
    this.#descriptors.push(descriptor)
    return descriptor
  }

  [Symbol.dispose](): void {
    for (const descriptor of this.#descriptors.splice(0)) closeSync(descriptor)
  }
}
