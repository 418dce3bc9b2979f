/** How lists are searched, in short, in Markdown: for whoever reads the reference. docs/search.md has all of it. */
export const searchGuide = `**Lists** take the same search as query parameters and, where there is one, as the body of \`…/search\`:

- \`filter=property:operator:value\`, repeated for more; all hold, or with \`rootJunction=OR\` one. \`eq\`, \`ne\`, \`in:[a,b]\`, \`!in:[a,b]\`, \`null\`, \`!null\`
  go with everything; \`gt\`, \`ge\`, \`lt\`, \`le\` with numbers, times and ids; \`ieq\`, \`like\`, \`ilike\` (in it), \`$ilike\` (at the beginning), \`ilike$\` (at
  the end), \`token\` (all words) with text, each also negated by \`!\`, \`ieq\` aside; \`empty\`, \`!empty\` with text and lists.
- \`order=property:asc\`, \`desc\`, and for text \`iasc\`, \`idesc\`; \`query\`: a piece of a name, username, code or the like.
- \`page\`, \`pageSize\` (50, at most 1,000), or \`after\` with the \`X-Next-Cursor\` of the page before. Totals are in \`X-Total-Count\`. In a body these are
  inside \`paging\`, which must be there: \`{"paging": {}}\`.

A refused filter is answered with what would do: \`filter=x:null\` names all properties of a list. The whole is in docs/search.md of the sources.`
