import { commcareCases } from './commcare-stand-in.ts'
import { testConnector } from '../../../test/conformance.ts'

testConnector(commcareCases)
