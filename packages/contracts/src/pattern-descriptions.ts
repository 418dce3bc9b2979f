/** Texts of violations for values that do not match a pattern, by pattern. */
export const patternWords: Readonly<Record<string, string>> = {
  '^\\P{Cc}*$': 'must be one line, without control characters',
  '^[^\\p{Cc}]*$': 'must be one line, without control characters',
  '\\S': 'must not be blank',
  '^\\S': 'must not start with a space',
  '\\S$': 'must not end with a space',
  '^[!-~]*$': 'must contain only ASCII characters, without spaces',
  '^[\\x21-\\x7e]*$': 'must contain only ASCII characters, without spaces',
  '^[ -~]*$': 'must contain only ASCII characters',
  '^[^{}\\p{Cc}]*$': 'must be one line, without braces and control characters',
  '^[^\\p{Cc}:]*$': 'must be one line, without colons and control characters',
  '^[0-9]+$': 'must contain only digits',
  '^[0-9a-f]+$': 'must contain only 0-9 and a-f',
  '^(/[A-Za-z]+)+$': 'must be a JSON pointer to a field, such as /jdbcSource/password',
  '^[a-z0-9]+$': 'must contain only a-z and 0-9',
  '^[a-z0-9-]+$': 'must contain only a-z, 0-9 and -',
  '^[A-Za-z0-9_-]+$': 'must contain only A-Z, a-z, 0-9, _ and -',
  '^[A-Za-z0-9._:-]+$': 'must contain only A-Z, a-z, 0-9 and . _ : -',
  '^[A-Za-z0-9_.:-]+$': 'must be a host name or IP address, without scheme and path: A-Z, a-z, 0-9 and . _ : -',
  '^[A-Za-z0-9:_$/-]+$': 'must be the name or the ARN of a function: A-Z, a-z, 0-9 and : _ $ / -',
  "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$": 'must be the name of an HTTP header, such as x-functions-key',
  '^[A-Za-z][A-Za-z0-9_]*$': 'must start with a letter and contain only A-Z, a-z, 0-9 and _',
  '^(?!pg_)[a-z][a-z0-9_]*$': 'must start with a letter, contain only a-z, 0-9 and _, and not start with pg_',
  '^[A-Za-z][A-Za-z0-9_+/-]*$': 'must be an IANA time zone, such as Europe/Oslo',
  '^[A-Z][A-Za-z]*$': 'must be a FHIR resource type, such as Patient',
  '^[A-Z]{1,3}[0-9]{0,7}(:[A-Z]{1,3}[0-9]{0,7})?$': 'must be a range of cells, such as A1:F500 or B:D',
  '^[^?#\\s\\p{Cc}]*$': 'must be query parameters without the question mark, # and spaces: active=true&name=a',
  '^($|https?://)': 'must be empty or start with http:// or https://',
  '^https?://[^\\s\\p{Cc}]+$': 'must be an address that starts with http:// or https://, without spaces',
  '^https?://\\P{Cc}+$': 'must be an address that starts with http:// or https://',
  '^([a-z0-9]+(-[a-z0-9]+)*|\\$root|\\$web)$':
    'must be the name of a container: a-z, 0-9 and single hyphens, or $root or $web',
  '^(PIPE|COMMA|TAB|SEMI_COLON|[\\x01-\\x09\\x0b\\x0c\\x0e-!#-&(-*,/:-@\\[\\]\\^\\x60{-~])$':
    'must be PIPE, COMMA, TAB, SEMI_COLON, or one ASCII character that is not a letter, digit, quote, point, plus, hyphen or underscore',
  '^[\\x01-\\x09\\x0b\\x0c\\x0e-!#-&(-*,/:-@\\[\\]\\^\\x60{-~]$':
    'must be one ASCII character that is not a letter, digit, quote, point, plus, hyphen or underscore',
  '^(UID|CODE|NAME|ATTRIBUTE:[A-Za-z0-9]{11})$': 'must be UID, CODE, NAME, or ATTRIBUTE: and the id of an attribute',
  '^([Uu][Ii][Dd]|[Cc][Oo][Dd][Ee]|[Nn][Aa][Mm][Ee]|[Aa][Tt][Tt][Rr][Ii][Bb][Uu][Tt][Ee]:[A-Za-z][A-Za-z0-9]{10})$':
    'must be UID, CODE, NAME, or ATTRIBUTE: and the id of an attribute',
  '^(name|NAME|description|DESCRIPTION|shortName|SHORT_NAME|labels\\.\\P{Cc}{1,100})$':
    'must be name, description, shortName, or labels. and the key of a label',
}
