/** Names of fields whose values are secrets, whatever they hold. */
export const secretName =
  /password|secret|token(?!ValidAfter|Target)|access_?key|account_?key|private_?key|credential|sealed_value/i
