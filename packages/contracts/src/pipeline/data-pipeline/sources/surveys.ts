import { Type } from 'typebox'
import { loginAccess, tokenAccess, userTokenAccess } from '../source-access.ts'
import { field, listOfSome, Name } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { variant } from '../pipeline-variant.ts'

const survey = field(Name, 'Survey', 'The uid of the form, from its address.', 'aXjPqBvW4f7n5hLkTzR8sm')

/** KoboToolbox: the submissions of one form. */
export const kobotoolbox = variant(connectorTypes.kobotoolbox, {
  given: { apiSource: tokenAccess.given, survey },
  answered: { apiSource: tokenAccess.answered, survey },
})

const projectSpace = {
  domain: field(
    Type.String({ minLength: 1, maxLength: 255, pattern: '^[a-z0-9-]+$' }),
    'Project space',
    'The name after /a/ in the address of the project.',
    'demo-project',
  ),
  forms: Type.Optional(
    field(
      listOfSome(Name, { most: 200 }),
      'Forms',
      'XMLNS of forms. Each becomes a table; repeat groups become child tables.',
      ['http://openrosa.org/formdesigner/ABC'],
    ),
  ),
  caseTypes: Type.Optional(
    field(listOfSome(Name, { most: 200 }), 'Case types', 'Each becomes a table.', ['pregnancy']),
  ),
  includeArchived: Type.Optional(field(Type.Boolean(), 'Archived forms', 'Whether archived forms are loaded.', false)),
}

/** CommCare HQ: forms and cases of a project space. */
export const commcare = variant(connectorTypes.commcare, {
  given: { apiSource: userTokenAccess.given, ...projectSpace },
  answered: { apiSource: userTokenAccess.answered, ...projectSpace },
})

const odk = {
  project: field(
    Type.String({ minLength: 1, maxLength: 20, pattern: '^[0-9]+$' }),
    'Project',
    'The number of the project.',
    '7',
  ),
  form: field(Name, 'Form', 'The XML form id.', 'household_survey'),
  includeDeleted: Type.Optional(
    field(Type.Boolean(), 'Deleted submissions', 'Whether deleted submissions are loaded and marked.', false),
  ),
}

/** ODK Central: the submissions of one form. */
export const odkCentral = variant(connectorTypes.odkCentral, {
  given: { apiSource: loginAccess.given, ...odk },
  answered: { apiSource: loginAccess.answered, ...odk },
})

const cht = {
  forms: Type.Optional(
    field(listOfSome(Name, { most: 200 }), 'Forms', 'Codes of forms; all forms when absent.', ['pregnancy']),
  ),
  contacts: Type.Optional(
    field(Type.Boolean(), 'Contacts', 'Whether people and places are loaded; true when absent.', true),
  ),
}

/** Community Health Toolkit: reports and contacts. */
export const communityHealthToolkit = variant(connectorTypes.communityHealthToolkit, {
  given: { apiSource: loginAccess.given, ...cht },
  answered: { apiSource: loginAccess.answered, ...cht },
})
