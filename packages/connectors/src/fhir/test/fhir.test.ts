import { testConnector } from '../../../test/conformance.ts'
import { fhir } from './fhir-stand-in.ts'

testConnector(fhir)
