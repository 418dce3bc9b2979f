import { Type } from 'typebox'
import { loginAccess, tokenAccess, userTokenAccess } from '../source-credentials.ts'
import { describeField, listOfSome, SourceName } from '../form-field.ts'
import { connectorTypes } from '../connector-types.ts'
import { definePipelineVariant } from '../pipeline-variant.ts'

const surveyField = describeField(
  SourceName,
  'Survey',
  'The uid of the form, from its address.',
  'aXjPqBvW4f7n5hLkTzR8sm',
)

/** KoboToolbox: the submissions of one form. */
export const kobotoolboxVariant = definePipelineVariant(connectorTypes.kobotoolbox, {
  requestFields: { apiSource: tokenAccess.requestSchema, survey: surveyField },
  responseFields: { apiSource: tokenAccess.responseSchema, survey: surveyField },
})

const projectSpace = {
  domain: describeField(
    Type.String({ minLength: 1, maxLength: 255, pattern: '^[a-z0-9-]+$' }),
    'Project space',
    'The name after /a/ in the address of the project.',
    'demo-project',
  ),
  forms: Type.Optional(
    describeField(
      listOfSome(SourceName, { most: 200 }),
      'Forms',
      'XMLNS of forms. Each becomes a table; repeat groups become child tables.',
      ['http://openrosa.org/formdesigner/ABC'],
    ),
  ),
  caseTypes: Type.Optional(
    describeField(
      listOfSome(SourceName, { most: 200 }),
      'Case types',
      'The case types to load. Each becomes a table.',
      ['pregnancy'],
    ),
  ),
  includeArchived: Type.Optional(
    describeField(Type.Boolean(), 'Archived forms', 'Whether archived forms are loaded.', false),
  ),
}

/** CommCare HQ: forms and cases of a project space. */
export const commcareVariant = definePipelineVariant(connectorTypes.commcare, {
  requestFields: { apiSource: userTokenAccess.requestSchema, ...projectSpace },
  responseFields: { apiSource: userTokenAccess.responseSchema, ...projectSpace },
})

const odkFields = {
  project: describeField(
    Type.String({ minLength: 1, maxLength: 20, pattern: '^[0-9]+$' }),
    'Project',
    'The number of the project.',
    '7',
  ),
  form: describeField(SourceName, 'Form', 'The XML form id.', 'household_survey'),
  includeDeleted: Type.Optional(
    describeField(Type.Boolean(), 'Deleted submissions', 'Whether deleted submissions are loaded and marked.', false),
  ),
}

/** ODK Central: the submissions of one form. */
export const odkCentral = definePipelineVariant(connectorTypes.odkCentral, {
  requestFields: { apiSource: loginAccess.requestSchema, ...odkFields },
  responseFields: { apiSource: loginAccess.responseSchema, ...odkFields },
})

const chtFields = {
  forms: Type.Optional(
    describeField(listOfSome(SourceName, { most: 200 }), 'Forms', 'Codes of forms. Default: all forms.', ['pregnancy']),
  ),
  contacts: Type.Optional(
    describeField(Type.Boolean(), 'Contacts', 'Whether people and places are loaded. Default: true.', true),
  ),
}

/** Community Health Toolkit: reports and contacts. */
export const communityHealthToolkit = definePipelineVariant(connectorTypes.communityHealthToolkit, {
  requestFields: { apiSource: loginAccess.requestSchema, ...chtFields },
  responseFields: { apiSource: loginAccess.responseSchema, ...chtFields },
})
