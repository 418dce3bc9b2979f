/** What the reference says of this service. */
export const info = {
  title: 'Sluice identity',
  version: '0.1.0',
  description: 'Clients, users and their roles, sign-in, and the tokens that both services take.',
}
