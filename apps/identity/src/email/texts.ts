import type { EmailContent } from '@sluice/mail'

interface NamedRecipient {
  name: string
  username: string
  clientName: string
}

function formatGreeting({ name }: NamedRecipient): string {
  const safeName = toSafeDisplayName(name)
  return safeName ? `Hello ${safeName},` : 'Hello,'
}

const formatOrganisation = ({ clientName }: NamedRecipient) => toSafeDisplayName(clientName) ?? 'your organisation'

/**
 * Returns one line with the username, or no line if the username is not safe in a mail. The page of the link shows the
 * username in any case.
 */
function listUsernameLines({ username }: NamedRecipient): string[] {
  const safeUsername = toSafeDisplayName(username)
  return safeUsername ? [`Your username is: ${safeUsername}`] : []
}

const formatExpiry = (until: string) => `The link works once, until ${until}.`

/** The texts of the mails. Subjects contain no user-supplied text. */
export const emailTexts = {
  invitation: (
    to: NamedRecipient & { ssoAuth: boolean },
    { url, expires }: { url: string; expires: Date },
  ): EmailContent => ({
    subject: 'Your invitation to Sluice',
    paragraphs: [
      formatGreeting(to),
      `You are invited to use Sluice for ${formatOrganisation(to)}.`,
      to.ssoAuth
        ? 'Open this link to accept. You then sign in through the sign-in service of your organisation.'
        : 'Open this link to accept, and to choose your password.',
    ],
    link: { label: 'Accept the invitation', url },
    notes: [
      ...listUsernameLines(to),
      formatExpiry(formatTime(expires)),
      'If you did not expect this, ignore this mail.',
    ],
  }),

  passwordReset: (to: NamedRecipient, { url, expires }: { url: string; expires: Date }): EmailContent => ({
    subject: 'Choose a new Sluice password',
    paragraphs: [
      formatGreeting(to),
      `A new password was requested for your user at ${formatOrganisation(to)}. Open this link to choose one.`,
    ],
    link: { label: 'Choose a new password', url },
    notes: [
      ...listUsernameLines(to),
      formatExpiry(formatTime(expires)),
      'If you did not request this, ignore this mail. Your password does not change.',
    ],
  }),

  passwordChanged: (to: NamedRecipient, time: Date): EmailContent => ({
    subject: 'Your Sluice password was changed',
    paragraphs: [
      formatGreeting(to),
      `The password of your user at ${formatOrganisation(to)} was changed on ${formatTime(time)}.`,
      'If it was not you, inform your administrator at once.',
    ],
    notes: listUsernameLines(to),
  }),

  secondFactorChanged: (to: NamedRecipient, change: 'set up' | 'removed', time: Date): EmailContent => ({
    subject: 'Your Sluice second factor was changed',
    paragraphs: [
      formatGreeting(to),
      change === 'removed'
        ? `The second factor of your user at ${formatOrganisation(to)} was removed on ${formatTime(time)}. You now sign in with your password only.`
        : `A second factor was set up for your user at ${formatOrganisation(to)} on ${formatTime(time)}. You now sign in with your password and a code.`,
      'If it was not you, inform your administrator at once.',
    ],
    notes: listUsernameLines(to),
  }),

  recoveryCodeUsed: (to: NamedRecipient, left: number, time: Date): EmailContent => ({
    subject: 'A recovery code of yours was used',
    paragraphs: [
      formatGreeting(to),
      `A recovery code of your user at ${formatOrganisation(to)} was used on ${formatTime(time)} instead of a code of your authenticator app. ${remainingCodesText[left] ?? `${left} recovery codes are left.`}`,
      'If it was not you, change your password and inform your administrator at once.',
    ],
    notes: listUsernameLines(to),
  }),

  emailChanged: (to: NamedRecipient, time: Date): EmailContent => ({
    subject: 'Your Sluice mail address was changed',
    paragraphs: [
      formatGreeting(to),
      `The mail address of your user at ${formatOrganisation(to)} was changed on ${formatTime(time)}. Mails now go to the new address.`,
      'If you did not expect this, inform your administrator at once.',
    ],
    notes: listUsernameLines(to),
  }),
}

const remainingCodesText: Record<number, string> = {
  0: 'No recovery codes are left. Create new ones while you have the app.',
  1: 'One recovery code is left. Create new ones soon.',
}

/** Formats a time as `21 November 2026 at 18:05 UTC`. Uses UTC, because the recipient's time zone is unknown. */
function formatTime(time: Date): string {
  const day = time.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  return `${day} at ${time.toISOString().slice(11, 16)} UTC`
}

const harmlessNamePattern = /^[\p{L}\p{M}\p{N} '’,_()&+-]+$/u
/**
 * Matches dots at the end of a word, as in an abbreviation. Mail programs may turn a word with a dot inside into a
 * link.
 */
const innocentDots = /\.(?= |$)/gu
const plainEmailPattern = /^[\w.+-]{1,64}@[A-Za-z0-9.-]{1,190}$/

/**
 * Returns a user-supplied name if it is safe in a mail: at most 80 characters on one line, and nothing that a mail
 * program turns into a link. Otherwise attackers could send their own message through Sluice. A plain mail address is
 * allowed. Returns undefined for other names; the mail then omits the name.
 */
export function toSafeDisplayName(name: string): string | undefined {
  const plain = name.normalize('NFC').trim().replace(/ +/g, ' ')
  const harmless = harmlessNamePattern.test(plain.replace(innocentDots, '')) || plainEmailPattern.test(plain)
  return harmless && [...plain].length <= 80 ? plain : undefined
}
