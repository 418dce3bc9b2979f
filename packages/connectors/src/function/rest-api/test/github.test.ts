import { testConnector } from '../../../../test/conformance.ts'
import { githubIssues } from './github-stand-in.ts'

testConnector(githubIssues)
