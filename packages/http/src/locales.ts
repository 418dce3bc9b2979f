/** The tags of `?locale=` and Accept-Language, most wanted first, at most ten. */
export function localesOf(wanted: string | undefined, header: string | undefined): string[] {
  const accepted = (header ?? '')
    .slice(0, 500)
    .split(',')
    .map((entry) => {
      const [tag = '', quality] = entry.trim().split(/\s*;\s*q=/i)
      return { tag, quality: quality === undefined ? 1 : Number(quality) || 0 }
    })
    .filter(({ tag, quality }) => /^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*$/.test(tag) && quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag)
  return [...(wanted ? [wanted] : []), ...accepted].slice(0, 10)
}
