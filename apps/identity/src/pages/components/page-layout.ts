import { html, isolateName, removeDirectionMarks, type HtmlMarkup, type HtmlValue } from '../html.ts'
import { readPageTexts } from '../choose-language.ts'
import { stylesheetPath } from '../stylesheet.ts'

export interface Organisation {
  name: string
}

/**
 * The options of every page. `language` is one of `languages`; default: English. `prefix` is the path of the public
 * address without a trailing slash; default: empty.
 */
export interface PageFacts {
  prefix?: string | undefined
  organisation?: Organisation | undefined
  language?: string
}

interface PageFrame extends PageFacts {
  /** The page title. It is also the heading unless `heading` is set. */
  title: string
  heading?: HtmlValue
  /** Whether the page shows a rejected form. */
  failed?: boolean
  /** The symbol above the heading. */
  symbol?: HtmlValue
  main: HtmlMarkup
}

/**
 * Returns a complete page. Its header has the organisation's name, or the product's if the organisation is unknown. The
 * page has no scripts and loads nothing from other servers.
 */
export function renderFrame({
  language,
  prefix = '',
  organisation = { name: 'Sluice' },
  title,
  heading = title,
  failed,
  symbol,
  main,
}: PageFrame): string {
  const texts = readPageTexts(language)
  const organisationName = removeDirectionMarks(organisation.name)
  const { initials, tone } = createMonogram(organisationName)
  return html`<!doctype html>
<html lang="${texts.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${failed && `${texts.error} `}${removeDirectionMarks(title)} – ${organisationName}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${prefix}${stylesheetPath}">
</head>
<body>
<div class="sheet">
<header><span class="monogram tone-${tone}" aria-hidden="true">${initials}</span><span class="organisation">${isolateName(organisation.name)}</span></header>
<main>
${symbol}
<h1>${heading}</h1>
${main}
</main>
</div>
</body>
</html>
`.markup
}

const toneCount = 6

/** Returns one or two initials and a colour number. Both depend only on the name. */
function createMonogram(text: string): { initials: string; tone: number } {
  const words = text.match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’-]*/gu) ?? []
  const ends = words.length > 1 ? [words[0], words.at(-1)] : words
  const initials = ends.map((word) => [...(word ?? '')][0]?.toLocaleUpperCase('en') ?? '').join('')
  const sum = [...text].reduce((total, character) => (total * 31 + (character.codePointAt(0) ?? 0)) % 65_521, 7)
  return { initials: initials || '·', tone: sum % toneCount }
}
