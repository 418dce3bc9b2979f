import { listOf } from '../../contract.ts'
import { defineSignature } from '../../operation-signature.ts'
import { Setting, SettingBody } from '../setting.ts'

const manageSettings = ['ROLE_MANAGE_SETTING'] as const

export const settingSignatures = {
  list: defineSignature({
    id: 'settings.list',
    summary: 'List settings',
    description: 'Returns all settings. Settings that were never changed have their default values.',
    method: 'get',
    path: '/settings',
    guard: manageSettings,
    response: listOf(Setting),
  }),
  read: defineSignature({
    id: 'settings.read',
    summary: 'Read a setting',
    method: 'get',
    path: '/settings/:key',
    guard: manageSettings,
    response: Setting,
    versioned: true,
  }),
  update: defineSignature({
    id: 'settings.update',
    summary: 'Change a setting',
    method: 'put',
    path: '/settings/:key',
    guard: manageSettings,
    body: SettingBody,
    response: Setting,
    versioned: true,
  }),
}
