import { listOf } from '../../contract.ts'
import { signature } from '../../operation.ts'
import { ApiToken, OpenSession } from '../account.ts'

/** What administrators do about the ways in of users who hold no more than they do. */
export const userAccess = {
  removeSecondFactor: signature({
    id: 'users.removeSecondFactor',
    summary: "Remove somebody's second factor",
    description: 'For whoever lost theirs. Your own is removed as yours.',
    method: 'delete',
    path: '/users/:uid/second-factor',
    guard: ['ROLE_MANAGE_USER'],
    ifMatch: true,
    // What weakens somebody's sign-in is not left to a token that leaked.
    inPerson: true,
  }),
  listApiTokens: signature({
    id: 'users.listApiTokens',
    summary: "List somebody's API tokens",
    method: 'get',
    path: '/users/:uid/api-tokens',
    guard: ['ROLE_MANAGE_USER'],
    response: listOf(ApiToken),
  }),
  deleteApiToken: signature({
    id: 'users.deleteApiToken',
    summary: "Delete one of somebody's API tokens",
    method: 'delete',
    path: '/users/:uid/api-tokens/:apiToken',
    guard: ['ROLE_MANAGE_USER'],
  }),
  listSessions: signature({
    id: 'users.listSessions',
    summary: "List somebody's open sessions",
    method: 'get',
    path: '/users/:uid/sessions',
    guard: ['ROLE_MANAGE_USER'],
    response: listOf(OpenSession),
  }),
  endSessions: signature({
    id: 'users.endSessions',
    summary: 'End all sessions of somebody',
    method: 'delete',
    path: '/users/:uid/sessions',
    guard: ['ROLE_MANAGE_USER'],
  }),
}
