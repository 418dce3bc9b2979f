/** Rejected rows of an attempt that are kept for people to look at; further ones are only counted. */
export const mostKeptRejects = 10_000

/** One in a hundred, once there are a hundred rows; of fewer, at least one has to fit. */
const tolerated = { share: 0.01, fromRows: 100 }

/** Share of rejected rows at the beginning of a file that makes a failure of its load likely. */
const likelyShare = 0.9

/** Says how many of the first rows of a file do not fit, if nearly all of them do not. `first` is the first of them. */
export function likelyRejected(
  rows: number,
  { count: rejected, first }: { count: number; first?: string | undefined },
): string | undefined {
  if (rows < tolerated.fromRows || rejected < rows * likelyShare) return undefined
  const [some, all] = [rejected, rows].map((count) => count.toLocaleString('en'))
  return `Of the first ${all} rows, ${some} do not fit, so a run would probably fail.${first ? ` The first is in ${first}.` : ''}`
}

/** Why a load with so many rejected rows must not be published, in a sentence; undefined where it may. `first` is the first of them. */
export function tooManyRejected(
  fitting: number,
  { count: rejected, first }: { count: number; first?: string | undefined },
): string | undefined {
  const total = fitting + rejected
  const fits = total < tolerated.fromRows ? fitting > 0 : rejected <= total * tolerated.share
  if (fits || rejected === 0) return undefined
  const why = fitting === 0 ? 'so none would be left' : `and at most ${tolerated.share * 100} % may be set aside`
  return (
    `${rejected} of ${total} rows do not fit, ${why}. ` +
    `The old data stays. ${first ? `The first is in ${first}. ` : ''}` +
    'The run’s rejected rows say what is wrong with each; correct them in the source and run again.'
  )
}
