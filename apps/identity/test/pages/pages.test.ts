import { describe, expect, it } from '@jest/globals'
import express from 'express'
import supertest from 'supertest'
import { supportedLanguages } from '../../src/pages/choose-language.ts'
import { sendPage } from '../../src/pages/send-page.ts'
import { gallery } from './all-page-states.ts'

const hostile = {
  markup: `"><script>alert(1)</script><img src=x onerror='alert(2)'>`,
  rightToLeft: 'خدمة الأرصاد \u202e الجوية',
  long: 'Ä'.repeat(255),
  template: '${7*7} {{7*7}} &amp; $& $1',
}

describe.each(Object.entries(hostile))('pages with %s in every name', (_kind, text) => {
  const pages = gallery('en', { organisation: text, application: text, user: { name: text, username: text } })
  const escaped = text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;')

  it.each(Object.entries(pages))('show the names as text: %s', (_name, page) => {
    expect(page).not.toMatch(/<script|<img|onerror='/i)
    expect(page).toContain(`<bdi>${escaped}</bdi>`)
    expect(/<title>[^<]*<\/title>/.exec(page)?.[0]).not.toMatch(/[\u202a-\u202e\u2066-\u2069]/)
  })
})

describe.each(supportedLanguages)('pages in %s', (language) => {
  it.each(Object.entries(gallery(language)))('name the organisation and have no scripts: %s', (_name, page) => {
    expect(page).toMatch(new RegExp(`^<!doctype html>\n<html lang="${language}">`))
    expect(page).toMatch(/<title>.+ – Northwind Weather Service<\/title>/)
    expect(page.match(/<h1>/g)).toHaveLength(1)
    expect(page).not.toMatch(/<script|<style| style=| on[a-z]+=|undefined|\[object|NaN/)
    // The page loads nothing from other servers.
    expect(page.match(/(?:src|href)="(?:https?:)?\/\/[^"]*"/g) ?? []).toEqual(
      page.includes('planner.example') ? ['href="https://planner.example/"'] : [],
    )
  })

  it('begin the title with "Error" if the form was rejected', () => {
    const { 'sign-in-failed': failed, 'sign-in': fresh } = gallery(language)
    expect(/<title>(.*?)<\/title>/.exec(failed!)?.[1]).toMatch(/^\p{L}+\u00a0?: /u)
    expect(/<title>(.*?)<\/title>/.exec(fresh!)?.[1]).not.toContain(':')
  })
})

describe('the response with a page', () => {
  const requestPage = (formAction?: string[]) => {
    const app = express()
    app.get('/', (_request, response) => sendPage(response, 200, '<!doctype html>', { formAction }))
    return supertest(app).get('/')
  }

  it('has a policy that allows only its own stylesheet and form target', async () => {
    const { headers } = await requestPage()
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    )
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-type': 'text/html; charset=utf-8',
    })
  })

  it('allows its form to redirect to an application', async () => {
    const { headers } = await requestPage([
      'https://app.example',
      'http://127.0.0.1:4000',
      'http://[::1]:4000',
      'com.example.app:',
    ])
    expect(headers['content-security-policy']).toContain(
      "form-action 'self' https://app.example http://127.0.0.1:4000 http://[::1]:4000 com.example.app:;",
    )
  })

  it('ignores form targets that would extend its policy', async () => {
    const { headers } = await requestPage([
      'https://a.example; script-src *',
      "'unsafe-inline'",
      '*',
      'https://a.example/path',
      'a b',
    ])
    expect(headers['content-security-policy']).toContain("form-action 'self'; frame-ancestors")
  })
})
