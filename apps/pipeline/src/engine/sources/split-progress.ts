import type { LoadReport } from './source.ts'

/** Writing an upload anew is the first half of the way, and reading that the second, both told in bytes of the upload. */
export function splitProgress(report: LoadReport) {
  let uploadSize: number | undefined
  return {
    /** Of the first half; what is read in place has none. */
    first(bytesRead: number, bytesTotal: number): void {
      uploadSize = bytesTotal
      report.progress({ bytesRead: Math.floor(bytesRead / 2), bytesTotal })
    },

    /** Of the second half, whose own size is `size`. */
    second(size: number): LoadReport['progress'] {
      return (counts) => {
        if (uploadSize === undefined || counts.bytesRead === undefined) return report.progress(counts)
        const share = size === 0 ? 1 : Math.min(1, counts.bytesRead / size)
        report.progress({ ...counts, bytesRead: Math.floor((uploadSize * (1 + share)) / 2), bytesTotal: uploadSize })
      }
    },
  }
}
